"""A database that is read-only or full: writes are refused with a reason, and reads go on."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from rooms.db import readiness
from rooms.db.transactions import last_writes
from rooms.models import AgentKey, Message, Question
from tests.harness.read_only_databases import forget_last_writes, full, read_only

pytestmark = pytest.mark.django_db(transaction=True)

# More than fit into the free room of any page of the file.
ASKS_THAT_FILL = 300


@pytest.fixture
def problem() -> Callable[..., Any]:
    def check(response: Any, *said: str) -> None:
        assert response.status_code == 503
        assert response["Content-Type"] == "application/problem+json"
        assert int(response["Retry-After"]) > 0
        refused = response.json()
        assert (refused["code"], refused["status"]) == ("cannot_write", 503)
        assert all(part in refused["detail"] for part in said)

    return check


def test_a_write_of_an_agent_is_refused_for_a_while(agent: Any, body: Any, problem: Any) -> None:
    with read_only():
        problem(agent.post(agent.questions_url, body), "read-only", "nothing was saved")
        problem(agent.post(agent.messages_url, {"sender": "bot", "content": "Hello"}), "read-only")
        assert not Question.objects.exists()
    assert agent.post(agent.questions_url, body).status_code == 201


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has no such limit")
def test_a_full_disk_is_named(agent: Any, body: Any, problem: Any, settings: Any) -> None:
    settings.ASK_BRIDGE = {"ASKS_PER_MINUTE": 0}
    with full():
        replies = (agent.post(agent.questions_url, body) for _ in range(ASKS_THAT_FILL))
        refused = next(reply for reply in replies if reply.status_code != 201)
        problem(refused, "disk", "full")
        # Smaller writes may still fit; what was refused a moment ago is told.
        assert readiness.database_state() == "cannot_write"
    assert agent.post(agent.questions_url, body).status_code == 201


def test_what_only_reads_goes_on(agent: Any, question: Question, browser: Client) -> None:
    AgentKey.objects.update(last_used_at=None)
    with read_only():
        assert agent.get(agent.questions_url).json()["questions"][0]["id"] == question.pk
        assert agent.get(agent.question_url(question.pk)).status_code == 200
        for page in ("/", "/rooms/ops", "/history", "/insights", "/settings", "/rooms/ops/connect"):
            assert browser.get(page).status_code == 200, page


def test_readiness_says_so_and_comes_back(client: Client, question: Question) -> None:
    with read_only():
        refused = client.get("/readyz")
        assert (refused.status_code, refused.json()) == (503, {"database": "cannot_write"})
        assert client.get("/healthz").status_code == 200
    # Until the refusal is old, or a write succeeds after it.
    ready = client.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"database": "ok"})


def test_a_probe_writes_only_when_nothing_else_did(client: Client, question: Question) -> None:
    forget_last_writes()
    assert client.get("/readyz").status_code == 200
    written_at = last_writes.written_at
    assert client.get("/readyz").status_code == 200
    assert last_writes.written_at == written_at


def test_a_click_is_told_on_the_card(browser: Client, question: Question) -> None:
    address = f"/rooms/ops/questions/{question.pk}/answer"
    with read_only():
        refused = browser.post(address, {"choice-0": "0"}, headers={"HX-Request": "true"})
    assert refused.status_code == 503
    assert refused["HX-Retarget"] == "find .ab-errors"
    assert int(refused["Retry-After"]) > 0
    assert "The database is read-only, so nothing was saved" in refused.content.decode()
    assert Question.objects.get().is_open


def test_a_message_is_told_above_the_page(browser: Client, room: Any) -> None:
    with read_only():
        refused = browser.post("/rooms/ops/messages", {"content": "Hello"}, headers={"HX-Request": "true"})
    assert (refused.status_code, refused["HX-Retarget"]) == (503, "#ab-notice")
    assert "read-only" in refused.content.decode()


def test_without_javascript_a_page_keeps_what_was_filled_in(browser: Client, room: Any) -> None:
    with read_only():
        refused = browser.post("/rooms/ops/messages", {"content": "Long and thought through"})
    assert refused.status_code == 503
    page = refused.content.decode()
    assert "<h1>Nothing can be saved right now</h1>" in page
    assert 'name="content" value="Long and thought through"' in page
    assert not Message.objects.exists()


def test_settings_that_are_not_saved_say_so(browser: Client) -> None:
    with read_only():
        refused = browser.post("/settings", {"keyboard": "on"})
    assert refused.status_code == 503
    assert "read-only" in refused.content.decode()
