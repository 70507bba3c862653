"""Everything that can go wrong under /api/, and that it leaves nothing behind."""

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from rooms import access, lifecycle
from rooms.contract.limits import BODY_LIMIT
from rooms.models import AgentKey, Message, Question, Room

DOCUMENTED = {
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    422: "Unprocessable Content",
}


@pytest.fixture
def nothing_stored(db: None) -> Any:
    """After the test there is still no question and no message."""
    yield
    assert not Question.objects.exists()
    assert not Message.objects.exists()


# ---- 400 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"hello",
        b"{'questions': []}",
        b'{"questions": []} trailing',
        b'{"timeout_seconds": NaN}',
        b'{"timeout_seconds": Infinity}',
        b'{"timeout_seconds": -Infinity}',
        b'{"question": "\xff"}',
        b'{"question": "a\x00b"}',
        b"[" * 50_000,
        b'{"a":' * 10_000,
        b"1" * 5_000,
    ],
    ids=lambda raw: ascii(raw[:24]),
)
@pytest.mark.usefixtures("nothing_stored")
def test_body_that_is_no_json_is_refused(agent: Any, problem: Any, raw: bytes) -> None:
    refused = problem(agent.post_raw(agent.questions_url, raw), 400, "malformed_json")
    assert refused["title"] == DOCUMENTED[400]


@pytest.mark.parametrize("path", ["messages", "answer"])
def test_every_post_refuses_malformed_json(agent: Any, question: Question, problem: Any, path: str) -> None:
    address = agent.messages_url if path == "messages" else agent.answer_url(question.pk)
    problem(agent.post_raw(address, b"{"), 400, "malformed_json")


def test_deep_json_in_an_ignored_field_does_no_harm(agent: Any, body: dict[str, Any]) -> None:
    raw = json.dumps(body)[:-1] + ', "extra": ' + "[" * 500 + "]" * 500 + "}"
    assert agent.post_raw(agent.questions_url, raw.encode()).status_code == 201


# ---- 401 -----------------------------------------------------------------------------------------


def bad_headers(text: str) -> dict[str, str | None]:
    return {
        "none": None,
        "empty": "",
        "scheme only": "Bearer",
        "other scheme": f"Basic {text}",
        "key only": text,
        "unknown": "Bearer abk_0123456789_" + "0" * 40,
        "wrong secret": f"Bearer {text[:-1]}{'0' if text[-1] != '0' else '1'}",
        "too long": f"Bearer {text}x",
        "upper case": f"Bearer {text.upper()}",
        "two keys": f"Bearer {text}, Bearer {text}",
        "no key at all": "Bearer \x00",
    }


@pytest.mark.parametrize("which", bad_headers("abk_0123456789_x").keys())
@pytest.mark.usefixtures("nothing_stored")
def test_without_a_living_key_everything_is_the_same_401(
    agent: Any, body: dict[str, Any], problem: Any, which: str
) -> None:
    header = bad_headers(agent.key)[which]
    response = Client().post(
        agent.questions_url,
        json.dumps(body),
        "application/json",
        headers={} if header is None else {"Authorization": header},
    )
    refused = problem(response, 401, "unauthorized")
    assert response["WWW-Authenticate"] == "Bearer"
    missing = Client().get(agent.question_url("q_missing"))
    assert refused == json.loads(missing.content)


@pytest.mark.usefixtures("nothing_stored")
def test_revoked_key_is_refused(agent: Any, body: dict[str, Any], problem: Any) -> None:
    access.revoke_keys(AgentKey.objects.filter(pk=agent.key_row.pk))
    problem(agent.post(agent.questions_url, body), 401, "unauthorized")


@pytest.mark.usefixtures("nothing_stored")
def test_key_of_an_archived_room_is_refused(
    agent: Any, room: Room, body: dict[str, Any], problem: Any
) -> None:
    lifecycle.archive_room(room)
    problem(agent.post(agent.questions_url, body), 401, "unauthorized")


@pytest.mark.usefixtures("nothing_stored")
def test_signed_in_person_without_key_is_refused(
    agent: Any, body: dict[str, Any], problem: Any, ana: Any
) -> None:
    browser = Client()
    browser.force_login(ana)
    problem(browser.post(agent.questions_url, body, "application/json"), 401, "unauthorized")


def test_bearer_is_written_in_any_case(agent: Any) -> None:
    response = Client().get(agent.questions_url, headers={"Authorization": f"bearer  {agent.key} "})
    assert response.status_code == 200


# ---- 404 -----------------------------------------------------------------------------------------


def test_other_room_looks_like_a_missing_one(agent: Any, foreign_agent: Any, problem: Any) -> None:
    foreign = problem(agent.get(foreign_agent.questions_url), 404, "not_found")
    missing = problem(agent.get("/api/v1/rooms/nowhere/questions"), 404, "not_found")
    assert foreign == missing


@pytest.mark.usefixtures("nothing_stored")
def test_nothing_can_be_posted_to_another_room(
    agent: Any, foreign_agent: Any, body: dict[str, Any], problem: Any
) -> None:
    problem(agent.post(foreign_agent.questions_url, body), 404, "not_found")
    problem(agent.post(foreign_agent.messages_url, {"content": "Hello"}), 404, "not_found")
    problem(agent.get(foreign_agent.messages_url), 404, "not_found")


@pytest.mark.parametrize(
    ("method", "address", "body"),
    [
        ("GET", "question", None),
        ("DELETE", "question", None),
        ("DELETE", "wait", None),
        ("POST", "answer", {"answers": {"Which database should we use?": "SQLite"}}),
    ],
)
def test_question_of_another_room_looks_like_a_missing_one(
    foreign_agent: Any, question: Question, problem: Any, method: str, address: str, body: Any
) -> None:
    foreign = foreign_agent.call(method, getattr(foreign_agent, f"{address}_url")(question.pk), body)
    missing = foreign_agent.call(method, getattr(foreign_agent, f"{address}_url")("q_missing"), body)
    assert problem(foreign, 404, "not_found") == problem(missing, 404, "not_found")
    question.refresh_from_db()
    assert (question.status, question.revision) == ("open", 1)


@pytest.mark.parametrize(
    "path",
    [
        "/api/",
        "/api/v1",
        "/api/v1/",
        "/api/v2/rooms/ops/questions",
        "/api/v1/rooms/ops/questions/",
        "/api/v1/rooms/ops",
        "/api/v1/questions/q_1/nothing",
        "/api/v1/questions/q_%00",
        "/api/v1/questions/a%0Ab",
        "/api/v1/questions/%FF",
        "/api/v1/questions/..%2F..%2Fadmin",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_every_other_address_below_api_is_a_problem_too(
    agent: Any, problem: Any, path: str, method: str
) -> None:
    problem(agent.call(method, path), 404, "not_found")


# ---- 405, 413, 415 -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "method", "allowed"),
    [
        ("questions", "PUT", "GET, POST"),
        ("questions", "DELETE", "GET, POST"),
        ("messages", "PATCH", "GET, POST"),
        ("question", "POST", "DELETE, GET"),
        ("wait", "GET", "DELETE"),
        ("answer", "GET", "POST"),
    ],
)
def test_other_methods_are_refused_with_those_that_work(
    agent: Any, question: Question, problem: Any, address: str, method: str, allowed: str
) -> None:
    place = getattr(agent, f"{address}_url")
    response = agent.call(method, place(question.pk) if callable(place) else place)
    problem(response, 405, "method_not_allowed")
    assert response["Allow"] == allowed


def test_body_of_64_kib_is_accepted_and_one_byte_more_is_not(
    agent: Any, body: dict[str, Any], problem: Any
) -> None:
    raw = json.dumps(body).encode()
    assert agent.post_raw(agent.questions_url, raw.ljust(BODY_LIMIT)).status_code == 201
    refused = problem(agent.post_raw(agent.questions_url, raw.ljust(BODY_LIMIT + 1)), 413, "too_large")
    assert refused["title"] == DOCUMENTED[413]
    assert Question.objects.count() == 1


def test_huge_body_is_refused_before_it_is_read(agent: Any, problem: Any) -> None:
    problem(agent.post_raw(agent.questions_url, b"x" * 3_000_000), 413, "too_large")


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
        "",
    ],
)
@pytest.mark.usefixtures("nothing_stored")
def test_body_that_is_not_sent_as_json_is_refused(
    agent: Any, body: dict[str, Any], problem: Any, content_type: str
) -> None:
    response = agent.post_raw(agent.questions_url, json.dumps(body).encode(), content_type)
    refused = problem(response, 415, "unsupported_media_type")
    assert refused["title"] == DOCUMENTED[415]


def test_charset_beside_the_media_type_is_fine(agent: Any, body: dict[str, Any]) -> None:
    raw = json.dumps(body).encode()
    assert agent.post_raw(agent.questions_url, raw, "application/json; charset=utf-8").status_code == 201


# ---- 422 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"questions": []}, "questions"),
        ({"questions": [{"question": "?", "options": ["A"]}]}, "questions[0].options"),
        ({"questions": [{"question": "?", "options": list("ABCDE")}]}, "questions[0].options"),
        ({"questions": [{"question": "?", "options": ["A", "A"]}]}, "questions[0].options"),
        ({"questions": [{"question": "\x00", "options": ["A", "B"]}]}, "questions[0].question"),
        ({"questions": [{"question": "\ud800", "options": ["A", "B"]}]}, "questions[0].question"),
        ({"questions": [{"question": "?", "options": ["A", "\udfff"]}]}, "questions[0].options[1].label"),
        ({"questions": "[" * 30_000}, "questions"),
        ({"agent": {"name": "x" * 81}}, "agent.name"),
        ({"timeout_seconds": 1e999}, "timeout_seconds"),
        ({"timeout_seconds": "soon"}, "timeout_seconds"),
        ({"default": {"Which database should we use?": "MySQL"}}, "default"),
    ],
)
@pytest.mark.usefixtures("nothing_stored")
def test_question_that_does_not_fit_is_refused_with_its_place(
    agent: Any, body: dict[str, Any], problem: Any, wrong: dict[str, Any], field: str
) -> None:
    raw = json.dumps(body | wrong).replace("Infinity", "1e999").encode()
    refused = problem(agent.post_raw(agent.questions_url, raw), 422, "invalid_question")
    assert [error["field"] for error in refused["errors"]] == [field]
    assert refused["title"] == DOCUMENTED[422]


def test_detail_is_the_first_error_and_counts_the_others(agent: Any, problem: Any) -> None:
    wrong = {"questions": [{"question": "?", "options": ["A"]}], "agent": {"name": ""}}
    refused = problem(agent.post(agent.questions_url, wrong), 422, "invalid_question")
    assert refused["detail"] == "questions[0].options: needs 2 to 4 options, got 1 (and 1 more)"
    assert refused["errors"][0] == {
        "field": "questions[0].options",
        "message": "needs 2 to 4 options, got 1",
    }


# ---- 500 -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("nothing_stored")
def test_failure_of_ours_is_a_problem_that_tells_nothing_inside(
    agent: Any, body: dict[str, Any], problem: Any, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.ASK_BRIDGE = {"ASKS_PER_MINUTE": "many"}
    refused = problem(agent.post(agent.questions_url, body), 500, "server_error")
    assert "many" not in json.dumps(refused)
    assert "TypeError" in caplog.text
    assert agent.key not in caplog.text


# ---- without a key -------------------------------------------------------------------------------


def test_health_needs_no_key(client: Client, db: None) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"database": "ok"}


def test_use_of_a_key_is_noted_about_once_a_minute(agent: Any) -> None:
    before = timezone.now()
    agent.get(agent.questions_url)
    first = AgentKey.objects.get(pk=agent.key_row.pk).last_used_at
    agent.get(agent.questions_url)
    assert first is not None
    assert first >= before
    assert AgentKey.objects.get(pk=agent.key_row.pk).last_used_at == first
