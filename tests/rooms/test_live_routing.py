"""Live routing: which requests the consumers take, and which go to the portal's application."""

import pytest

from rooms.live import routing
from rooms.urls import urlpatterns


def route_of(method: str, path: str, query: bytes = b"") -> tuple[str, str]:
    return routing._route({"type": "http", "method": method, "path": path, "query_string": query})


@pytest.mark.parametrize(
    ("method", "path", "query", "consumer"),
    [
        ("GET", "/api/v1/questions/q_1", b"wait=5", "AnswerWait"),
        ("GET", "/api/v1/questions/q_1", b"a=1&wait=", "AnswerWait"),
        ("POST", "/api/v1/rooms/ops/questions", b"wait=5", "AnswerWait"),
        ("GET", "/api/v1/rooms/ops/messages", b"after=m_1&wait=5", "MessageWait"),
        ("GET", "/api/v1/rooms/ops/events", b"", "EventStream"),
        ("POST", "/api/v1/rooms/ops/hooks/claude-code", b"", "ClaudeCodeHook"),
        ("GET", "/stream", b"", "PageStream"),
        ("POST", "/stream", b"", "PageStream"),
        ("GET", "/rooms/ops/stream", b"", "PageStream"),
        ("GET", "/healthz", b"", "Health"),
        ("GET", "/readyz", b"", "Readiness"),
    ],
)
def test_a_request_that_stays_open_has_its_consumer(
    method: str, path: str, query: bytes, consumer: str
) -> None:
    assert routing.CONSUMERS[route_of(method, path, query)].__name__ == consumer


@pytest.mark.parametrize(
    ("method", "path", "query"),
    [
        ("GET", "/api/v1/questions/q_1", b""),
        ("GET", "/api/v1/questions/q_1", b"await=5"),
        ("POST", "/api/v1/rooms/ops/questions", b""),
        ("POST", "/rooms/ops/stream", b""),
        ("GET", "/rooms/ops", b"wait=5"),
        ("GET", "/login/", b"wait=5"),
        ("GET", f"/no/{'such' * 100}/page", b"wait=5"),
    ],
)
def test_every_other_request_goes_to_the_application(method: str, path: str, query: bytes) -> None:
    assert route_of(method, path, query) not in routing.CONSUMERS


def test_the_last_parts_are_those_of_the_paths() -> None:
    names = {name for _, name in routing.CONSUMERS} - routing.ONLY_WITH_WAIT
    patterns = [str(url.pattern) for url in urlpatterns if url.name in names]
    assert {pattern.rpartition("/")[2] for pattern in patterns} == routing.LAST_PARTS
