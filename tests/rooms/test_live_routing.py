"""Live routing: which calls the consumers in front of Django take."""

import pytest

from rooms.live import routing


def scope_of(path: str) -> dict[str, object]:
    return {"type": "http", "method": "GET", "path": path, "query_string": b""}


def test_a_path_of_ours_is_looked_up_once() -> None:
    routing._find(scope_of("/rooms/deploys"))
    before = routing._resolve_once.cache_info()
    scope = scope_of("/rooms/deploys")
    routing._find(scope)
    after = routing._resolve_once.cache_info()
    assert (after.hits, after.misses) == (before.hits + 1, before.misses)
    assert scope[routing.MATCH]


@pytest.mark.parametrize("path", [f"/rooms/{'a' * 16_000}", f"/no/{'such' * 100}/page"])
def test_long_paths_do_not_fill_the_memory(path: str) -> None:
    before = routing._resolve_once.cache_info().currsize
    routing._find(scope_of(path))
    assert routing._resolve_once.cache_info().currsize == before
