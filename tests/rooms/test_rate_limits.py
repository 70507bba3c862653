"""Rate limits per person and minute: refused with Retry-After, and nothing typed is lost."""

import html
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from rooms import access, lifecycle
from rooms.models import AgentKey, Answer, Membership, Message, Question, Room

HTMX = {"HX-Request": "true"}
FORMS: dict[str, dict[str, str]] = {
    "answer": {"choice-0": "other", "other-0": "both,\r\nside by side", "notes-0": "<b>really</b>"},
    "skip": {"reason": "not today"},
    "reply": {"reply": "Why\r\n“now”?"},
}


@pytest.fixture(autouse=True)
def two_a_minute(settings: Any) -> None:
    limited = ("ANSWERS", "MESSAGES", "KEYS", "ASKS")
    settings.ASK_BRIDGE = {f"{what}_PER_MINUTE": 2 for what in limited}


@pytest.fixture
def browser(ana: Any, room: Room) -> Client:
    client = Client()
    client.force_login(ana)
    return client


@pytest.fixture
def busy(ask: Callable[..., Question], ana: Any) -> None:
    """Ana has answered as much as she may."""
    for question in (ask(), ask()):
        lifecycle.decline(question, ana)


def address(question: Question, tail: str) -> str:
    return f"/rooms/{question.room.slug}/questions/{question.pk}/{tail}"


def check_refusal(response: Any, seconds: int = 60) -> str:
    """Its text; it names the time to come back in words and for programs alike."""
    assert response.status_code == 429
    assert 0 < int(response["Retry-After"]) <= seconds
    text = html.unescape(response.content.decode())
    again = f"again in {response['Retry-After']} seconds"
    assert f"More than 2 within a minute: send it {again}" in text
    return text


# ---- answers ---------------------------------------------------------------------------------------------


def test_answers_skips_and_replies_count_together(browser: Client, ask: Callable[..., Question]) -> None:
    sent = [browser.post(address(ask(), tail), form) for tail, form in FORMS.items()]
    statuses = [reply.status_code for reply in sent]
    assert statuses == [303, 303, 429]


@pytest.mark.parametrize("tail", FORMS)
def test_htmx_gets_a_sentence_for_the_card(
    browser: Client, busy: None, question: Question, tail: str
) -> None:
    refused = browser.post(address(question, tail), FORMS[tail], headers=HTMX)
    text = check_refusal(refused)
    # Only the sentence is put in, so the form stays as it was filled in.
    assert refused["HX-Retarget"] == "find .ab-errors"
    assert refused["HX-Reswap"] == "innerHTML"
    assert "<form" not in text
    assert Question.objects.get(pk=question.pk).is_open


@pytest.mark.parametrize("tail", FORMS)
def test_page_without_javascript_sends_the_same_again(
    browser: Client, busy: None, question: Question, tail: str
) -> None:
    text = check_refusal(browser.post(address(question, tail), FORMS[tail]))
    assert "Nothing is lost" in text
    assert 'class="ab-gate-box"' in text
    raw = browser.post(address(question, tail), FORMS[tail]).content.decode()
    fields = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', raw)
    kept = {name: html.unescape(value) for name, value in fields if name != "csrfmiddlewaretoken"}
    assert kept == FORMS[tail]
    Answer.objects.update(answered_at=timezone.now() - timedelta(minutes=2))
    assert browser.post(address(question, tail), kept).status_code == 303
    given = Answer.objects.get(question=question)
    expected = {"answer": "", "skip": "not today", "reply": "Why\n“now”?"}[tail]
    assert given.reason == expected
    if tail == "answer":
        assert given.choices[0]["customInput"] == "both,\nside by side"


@pytest.mark.parametrize("tail", FORMS)
@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
def test_late_answer_is_late_and_not_too_much(
    browser: Client, busy: None, question: Question, ben: Any, tail: str, headers: dict[str, str]
) -> None:
    lifecycle.decline(question, ben)
    assert browser.post(address(question, tail), FORMS[tail], headers=headers).status_code == 409


def test_answer_after_the_deadline_is_late_and_not_too_much(
    browser: Client, busy: None, overdue: Question
) -> None:
    assert browser.post(address(overdue, "answer"), {"choice-0": "0"}).status_code == 409


def test_late_and_wrong_answers_do_not_count(
    browser: Client, ask: Callable[..., Question], question: Question, ben: Any
) -> None:
    lifecycle.decline(question, ben)
    for _ in range(3):
        assert browser.post(address(question, "answer"), {"choice-0": "0"}).status_code == 409
        assert browser.post(address(ask(), "answer"), {}).status_code == 422
    assert browser.post(address(ask(), "answer"), {"choice-0": "0"}).status_code == 303


def test_each_person_has_their_own_rate(browser: Client, busy: None, question: Question, ben: Any) -> None:
    other = Client()
    other.force_login(ben)
    assert other.post(address(question, "answer"), {"choice-0": "0"}).status_code == 303


def test_time_to_come_back_is_when_the_first_one_is_a_minute_old(
    browser: Client, ask: Callable[..., Question], busy: None, question: Question
) -> None:
    first = Answer.objects.order_by("answered_at")[0]
    Answer.objects.filter(pk=first.pk).update(answered_at=timezone.now() - timedelta(seconds=50))
    check_refusal(browser.post(address(question, "skip"), {}), seconds=10)
    Answer.objects.filter(pk=first.pk).update(answered_at=timezone.now() - timedelta(seconds=61))
    assert browser.post(address(question, "skip"), {}).status_code == 303


def test_limit_of_nothing_is_no_limit(browser: Client, busy: None, question: Question, settings: Any) -> None:
    settings.ASK_BRIDGE = {"ANSWERS_PER_MINUTE": 0}
    assert browser.post(address(question, "skip"), {}).status_code == 303


def test_counting_costs_one_query_that_an_index_answers(browser: Client, question: Question) -> None:
    with CaptureQueriesContext(connection) as captured:
        browser.post(address(question, "answer"), {"choice-0": "0"})
    begins = 'SELECT "ask_bridge_answer"."answered_at"'.replace('"', connection.ops.quote_name("")[0])
    counting = [query["sql"] for query in captured if query["sql"].startswith(begins)]
    assert len(counting) == 1
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # A table of one row is else read and sorted as it is.
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
        cursor.execute(f"EXPLAIN {'QUERY PLAN ' if connection.vendor == 'sqlite' else ''}{counting[0]}")
        assert "ask_bridge_a_rate" in str(cursor.fetchall())


# ---- messages --------------------------------------------------------------------------------------------


def test_messages_are_bounded_and_what_was_written_stays(browser: Client, room: Room) -> None:
    for _ in range(2):
        assert browser.post("/rooms/ops/messages", {"content": "Hello"}).status_code == 302
    text = check_refusal(browser.post("/rooms/ops/messages", {"content": "Third"}))
    assert '<input type="hidden" name="content" value="Third">' in text
    text = check_refusal(browser.post("/rooms/ops/messages", {"content": "Third"}, headers=HTMX))
    assert re.search(r"<textarea[^>]*>\s*Third</textarea>", text)
    assert Message.objects.count() == 2
    Message.objects.update(created_at=timezone.now() - timedelta(minutes=2))
    assert browser.post("/rooms/ops/messages", {"content": "Third"}).status_code == 302


def test_messages_of_agents_are_not_those_of_people(browser: Client, agent: Any) -> None:
    for _ in range(2):
        assert agent.post(agent.messages_url, {"content": "Hello"}).status_code == 201
    assert browser.post("/rooms/ops/messages", {"content": "Hello"}).status_code == 302
    assert agent.post(agent.messages_url, {"content": "Hello"}).status_code == 429


# ---- keys and test questions -----------------------------------------------------------------------------


def test_keys_are_bounded_and_the_label_stays(browser: Client, room: Room, ana: Any) -> None:
    Membership.objects.filter(user=ana).update(role=Membership.Role.MANAGER)
    for number in range(2):
        form = {"label": f"bot-{number}", "expires_in_days": "30"}
        assert browser.post("/rooms/ops/connect", form).status_code == 200
    refused = browser.post("/rooms/ops/connect", {"label": "bot-3", "expires_in_days": "90"})
    text = check_refusal(refused)
    assert 'value="bot-3"' in text
    assert '<option value="90" selected>' in text
    old = AgentKey.objects.all()[0]
    check_refusal(browser.post("/rooms/ops/connect/rotate", {"key": old.lookup}))
    assert AgentKey.objects.count() == 2
    # Stopping a key is never too much.
    assert browser.post("/rooms/ops/connect/revoke", {"key": old.lookup}).status_code == 302
    assert access.revoke_keys(AgentKey.objects.all()) == 1


def test_test_questions_are_bounded(browser: Client, room: Room) -> None:
    for _ in range(2):
        assert browser.post("/rooms/ops/connect/test").status_code == 302
    check_refusal(browser.post("/rooms/ops/connect/test"))
    assert Question.objects.count() == 2
