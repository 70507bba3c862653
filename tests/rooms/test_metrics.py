"""`GET /metrics`: needs the token, costs few queries, and its values are right."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from rooms import access, lifecycle
from rooms.live import metrics
from rooms.models import Answer, Question, Room

TOKEN = "a-token-of-the-monitoring"
SAMPLE = re.compile(r"([a-z_]+)(\{[a-z]+=\"[^\"]+\"\})? (\S+)")


@pytest.fixture(autouse=True)
def fresh_tally(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that just began, and counting what is not older than a moment."""
    settings.ASK_BRIDGE = {"METRICS_TOKEN": TOKEN}
    monkeypatch.setattr(metrics, "_site_counters", metrics.SiteCounters(timezone.now()))
    monkeypatch.setattr(metrics, "COMMITTED_AFTER_SECONDS", 0)


def fetch(authorization: str = f"Bearer {TOKEN}", method: str = "GET") -> Any:
    return Client().generic(method, "/metrics", headers={"Authorization": authorization})


def samples() -> dict[str, float]:
    found = {}
    for line in fetch().content.decode().splitlines():
        if not line.startswith("#"):
            sample = SAMPLE.fullmatch(line)
            assert sample, line
            found[f"{sample[1]}{sample[2] or ''}"] = float(sample[3])
    return found


# ---- for whom --------------------------------------------------------------------------------------------


def test_text_is_what_prometheus_reads(room: Room) -> None:
    response = fetch()
    assert response.status_code == 200
    assert response["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert response["Cache-Control"] == "no-store"
    assert response.content.endswith(b"\n")
    lines = response.content.decode().splitlines()
    described = [line.split()[2] for line in lines if line.startswith("# TYPE ")]
    assert len(described) == len(set(described))
    for line in lines:
        if not line.startswith("#"):
            name = re.sub(r"_(bucket|sum|count)$", "", re.split(r"[{ ]", line)[0])
            assert name in described


@pytest.mark.parametrize(
    ("authorization", "method"),
    [
        ("", "GET"),
        (TOKEN, "GET"),
        (f"Basic {TOKEN}", "GET"),
        ("Bearer ", "GET"),
        (f"Bearer {TOKEN}x", "GET"),
        ("Bearer ünknown", "GET"),
        (f"Bearer {TOKEN}", "POST"),
    ],
)
def test_without_the_token_it_looks_like_missing(db: None, authorization: str, method: str) -> None:
    refused = fetch(authorization, method)
    missing = Client().generic(method, "/nowhere", headers={"Authorization": authorization})
    assert refused.status_code == missing.status_code == 404
    assert (refused.content, refused.headers) == (missing.content, missing.headers)


@pytest.mark.parametrize("authorization", ["", "Bearer ", f"Bearer {TOKEN}"])
def test_without_a_token_in_the_settings_it_is_refused(db: None, settings: Any, authorization: str) -> None:
    settings.ASK_BRIDGE = {}
    assert fetch(authorization).status_code == 404


def test_agent_keys_and_logins_open_nothing_here(room: Room, browser: Client) -> None:
    _, key = access.create_key(room, label="curious")
    assert fetch(f"Bearer {key}").status_code == 404
    assert browser.get("/metrics").status_code == 404


def test_it_names_no_person_and_no_room(question: Question, ana: Any) -> None:
    lifecycle.decline(question, ana, reason="because of the budget")
    text = fetch().content.decode()
    for secret in ("ops", "Operations", "ana", "refactor-bot", "database should", "budget", question.pk):
        assert secret not in text


# ---- what it says ----------------------------------------------------------------------------------------


def test_open_questions_are_counted_by_whether_their_agent_waits(ask: Callable[..., Question]) -> None:
    waited_for, _, _ = ask(), ask(), ask()
    lifecycle.wait_started(waited_for.pk)
    Question.objects.filter(pk=waited_for.pk).update(asked_at=timezone.now() - timedelta(hours=1))
    found = samples()
    assert found['ask_bridge_open_questions{agent="waiting"}'] == 1
    assert found['ask_bridge_open_questions{agent="gone"}'] == 2
    assert found["ask_bridge_oldest_open_question_seconds"] == pytest.approx(3600, abs=60)


def test_with_nothing_open_the_oldest_is_no_seconds_old(room: Room, other_room: Room) -> None:
    found = samples()
    assert found["ask_bridge_oldest_open_question_seconds"] == 0
    assert found["ask_bridge_rooms"] == 2
    lifecycle.archive_room(room)
    assert samples()["ask_bridge_rooms"] == 1


def test_what_became_of_questions_is_counted_on(ask: Callable[..., Question], ana: Any) -> None:
    assert samples()['ask_bridge_questions_total{event="asked"}'] == 0
    answered, declined, asked_back, withdrawn, _ = (ask() for _ in range(5))
    assert samples()['ask_bridge_questions_total{event="asked"}'] == 5
    choice = {"question": "Which database should we use?", "selectedOptions": ["SQLite"]}
    lifecycle.answer(answered, [choice], via=Answer.Via.WEB, user=ana)
    lifecycle.decline(declined, ana)
    lifecycle.ask_back(asked_back, ana, "Why?")
    lifecycle.withdraw(withdrawn)
    for _ in range(2):  # nothing is counted twice
        found = samples()
        events = ("asked", "answered", "declined", "asked_back", "expired", "withdrawn")
        counts = [found[f'ask_bridge_questions_total{{event="{event}"}}'] for event in events]
        assert counts == [5, 1, 1, 1, 0, 1]


def test_what_was_before_the_process_began_is_not_counted(
    question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "_site_counters", metrics.SiteCounters(timezone.now()))
    assert samples()['ask_bridge_questions_total{event="asked"}'] == 0


def test_what_may_not_be_committed_yet_is_counted_later(
    question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patience:
        patience.setattr(metrics, "COMMITTED_AFTER_SECONDS", 60)
        assert samples()['ask_bridge_questions_total{event="asked"}'] == 0
    assert samples()['ask_bridge_questions_total{event="asked"}'] == 1


def test_seconds_to_answer_fall_into_their_buckets(ask: Callable[..., Question], ana: Any) -> None:
    for seconds in (1.5, 45, 200_000):
        question = ask()
        asked_at = timezone.now() - timedelta(seconds=seconds)
        Question.objects.filter(pk=question.pk).update(asked_at=asked_at)
        lifecycle.decline(question, ana)
    found = samples()
    at_most = {
        bound: found[f'ask_bridge_answer_seconds_bucket{{le="{bound}"}}'] for bound in (1, 5, 60, 86400)
    }
    assert at_most == {1: 0, 5: 1, 60: 2, 86400: 2}
    assert (
        found['ask_bridge_answer_seconds_bucket{le="+Inf"}'] == found["ask_bridge_answer_seconds_count"] == 3
    )
    assert found["ask_bridge_answer_seconds_sum"] == pytest.approx(200_048, abs=30)


def test_the_process_tells_of_itself(room: Room) -> None:
    found = samples()
    assert found["ask_bridge_database_up"] == found["ask_bridge_channel_layer_up"] == 1
    assert found["process_threads"] >= 1
    assert found["process_resident_memory_bytes"] > 10_000_000
    assert found["process_open_fds"] > 2
    for name in ("waiting_agents", "listening_agents", "page_streams"):
        assert found[f"ask_bridge_{name}"] == 0


# ---- what it costs ---------------------------------------------------------------------------------------


def test_it_asks_the_database_four_times_however_much_there_is(
    ask: Callable[..., Question], ana: Any
) -> None:
    for _ in range(2):
        lifecycle.decline(ask(), ana)
        ask()
        with CaptureQueriesContext(connection) as queries:
            metrics.text()
        assert len(queries) == 4, [query["sql"] for query in queries]


def test_without_its_database_it_still_says_so(
    room: Room, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: Any) -> None:
        raise OperationalError("connection refused")

    with connection.execute_wrapper(refuse):
        text = metrics.text()
    assert "ask_bridge_database_up 0\n" in text
    assert "ask_bridge_waiting_agents 0\n" in text
    assert "ask_bridge_open_questions" not in text
    assert "out of reach" in caplog.text
