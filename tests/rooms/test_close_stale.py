"""Questions without a waiting agent: attended at first, closed after the time that their room sets."""

from collections.abc import Callable
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.utils import timezone

from rooms import lifecycle
from rooms.models import Answer, AuditEntry, Membership, Question, Room
from rooms.rendering import cards
from tests.rooms.test_wait_leases import let_lease_run_out

DAY = timedelta(days=1)


def read(question: Question) -> Question:
    return Question.objects.with_answer().get(pk=question.pk)


def left_at(question: Question, moment: datetime) -> Question:
    """An agent waited for it and left at that moment."""
    lifecycle.wait_started(question.pk)
    lifecycle.wait_ended(question.pk)
    passed = timezone.now() - moment
    left = read(question)
    closes_at = left.closes_at - passed if left.closes_at else None
    Question.objects.filter(pk=question.pk).update(last_seen_at=moment, closes_at=closes_at)
    return read(question)


@pytest.fixture
def stale(question: Question) -> Question:
    """Its agent left more than a day ago."""
    return left_at(question, timezone.now() - DAY - timedelta(seconds=1))


# ---- attended --------------------------------------------------------------------------------------------


def test_a_new_question_is_attended_for_a_moment(question: Question) -> None:
    assert question.is_attended
    assert not question.agent_active
    lifecycle.sweep()
    assert read(question).is_attended
    let_lease_run_out(question)
    lifecycle.sweep()
    assert not read(question).is_attended


def test_a_question_whose_agent_left_is_unattended_until_it_is_back(question: Question) -> None:
    lifecycle.wait_started(question.pk)
    lifecycle.wait_ended(question.pk)
    assert not read(question).is_attended
    lifecycle.wait_started(question.pk)
    assert read(question).is_attended


def test_an_agent_between_two_polls_attends_its_question(question: Question) -> None:
    lifecycle.wait_started(question.pk)
    lifecycle.wait_paused(question.pk)
    lifecycle.sweep()
    assert read(question).is_attended


# ---- closing ---------------------------------------------------------------------------------------------


def test_a_question_is_closed_a_day_after_its_agent_left(stale: Question) -> None:
    lifecycle.sweep()
    closed = read(stale)
    assert closed.status == "expired"
    assert closed.why_ended == {"reason": "no_agent_waiting", "by": None}
    assert closed.delivered_at is None
    entry = AuditEntry.objects.get(action="expired", subject=stale.pk)
    assert (entry.actor_type, entry.details) == ("system", {"reason": "no_agent_waiting"})


def test_a_question_is_not_closed_earlier(question: Question) -> None:
    left_at(question, timezone.now() - DAY + timedelta(minutes=1))
    lifecycle.sweep()
    assert read(question).is_open


def test_a_question_that_no_agent_ever_waited_for_is_closed_as_well(question: Question) -> None:
    let_lease_run_out(question)
    lifecycle.sweep()
    closes_at = read(question).closes_at
    assert closes_at is not None
    assert timedelta() <= closes_at - question.asked_at - DAY < timedelta(minutes=5)


def test_the_default_is_never_used_when_no_agent_waits(ask: Callable[..., Question]) -> None:
    default = {"Which database should we use?": ["SQLite"]}
    question = ask(default=default, timeout_seconds=7 * 86400)
    left_at(question, timezone.now() - 2 * DAY)
    lifecycle.sweep()
    assert read(question).status == "expired"
    assert read(question).answer_or_none is None


def test_a_question_is_not_closed_while_an_agent_waits(stale: Question) -> None:
    lifecycle.wait_started(stale.pk)
    with pytest.raises(lifecycle.AlreadySettled):
        lifecycle.close_stale(stale)
    lifecycle.sweep()
    assert read(stale).is_open


def test_a_question_is_not_closed_while_its_decision_can_be_undone(
    ask: Callable[..., Question], ana: Any
) -> None:
    question = ask(care={"undo_seconds": 60})
    choice = {"question": "Which database should we use?", "selectedOptions": ["SQLite"]}
    lifecycle.answer(question, [choice], via=Answer.Via.WEB, user=ana)
    held = left_at(question, timezone.now() - 2 * DAY)
    assert held.is_held
    lifecycle.sweep()
    with pytest.raises(lifecycle.AlreadySettled):
        lifecycle.close_stale(held)
    assert read(question).is_open


def test_a_question_can_be_answered_until_it_is_closed(stale: Question, ana: Any) -> None:
    lifecycle.decline(stale, ana)
    with pytest.raises(lifecycle.AlreadySettled):
        lifecycle.close_stale(stale)
    assert read(stale).status == "declined"
    assert read(stale).why_ended is None


# ---- the room's time -------------------------------------------------------------------------------------


def test_a_room_that_never_closes_questions_keeps_them(room: Room, question: Question) -> None:
    lifecycle.close_questions_after(room, None)
    assert left_at(question, timezone.now() - 30 * DAY).closes_at is None
    lifecycle.sweep()
    assert read(question).is_open


def test_a_new_time_counts_for_questions_that_are_open(
    ask: Callable[..., Question], room: Room, ana: Any
) -> None:
    an_hour_ago = timezone.now() - timedelta(hours=1)
    left, waited_for = left_at(ask(), an_hour_ago), ask()
    lifecycle.wait_started(waited_for.pk)
    lifecycle.close_questions_after(room, 600, by=ana)
    assert read(left).closes_at == an_hour_ago + timedelta(minutes=10)
    lifecycle.sweep()
    assert (read(left).status, read(waited_for).status) == ("expired", "open")
    entry = AuditEntry.objects.get(action="room_changed")
    assert (entry.room, entry.actor, entry.details) == (room.slug, "ana", {"close_after_seconds": 600})


def test_the_same_time_again_is_no_change(room: Room) -> None:
    lifecycle.close_questions_after(room, 86400)
    assert not AuditEntry.objects.filter(action="room_changed").exists()


@pytest.fixture
def manager(room: Room, ana: Any) -> Any:
    Membership.objects.filter(room=room, user=ana).update(role="manager")
    return ana


def test_a_manager_sets_the_time_on_the_page(room: Room, manager: Any, browser: Client) -> None:
    address = f"/rooms/{room.slug}/connect"
    assert '<option value="86400" selected>' in browser.get(address).content.decode()
    reply = browser.post(f"{address}/closing", {"close_after_seconds": "600"}, follow=True)
    assert "Saved." in reply.content.decode()
    assert '<option value="600" selected>' in reply.content.decode()
    browser.post(f"{address}/closing", {"close_after_seconds": ""})
    room.refresh_from_db()
    assert room.close_after_seconds is None
    assert '<option value="" selected>' in browser.get(address).content.decode()


@pytest.mark.parametrize("sent", [{"close_after_seconds": "1"}, {"close_after_seconds": "x"}, {}])
def test_a_time_that_is_not_offered_is_refused(
    room: Room, manager: Any, browser: Client, sent: dict[str, str]
) -> None:
    assert browser.post(f"/rooms/{room.slug}/connect/closing", sent).status_code == 422
    room.refresh_from_db()
    assert room.close_after_seconds == 86400


def test_members_neither_see_nor_change_the_time(room: Room, browser: Client) -> None:
    assert "close_after_seconds" not in browser.get(f"/rooms/{room.slug}/connect").content.decode()
    reply = browser.post(f"/rooms/{room.slug}/connect/closing", {"close_after_seconds": "600"})
    assert reply.status_code == 404
    room.refresh_from_db()
    assert room.close_after_seconds == 86400


# ---- what people and agents are told ---------------------------------------------------------------------


def test_the_card_says_that_no_agent_was_waiting(stale: Question) -> None:
    lifecycle.sweep()
    assert "Closed: no agent was waiting" in cards.render_card(read(stale))


def test_an_agent_that_comes_back_is_told_why(agent: Any) -> None:
    body = {"question": "Deploy?", "options": ["Yes", "No"], "session_id": "s", "tool_use_id": "t"}
    asked = agent.post(agent.questions_url, body).json()
    question = Question.objects.get(pk=asked["id"])
    left_at(question, timezone.now() - 2 * DAY)
    lifecycle.sweep()
    again = agent.post(agent.questions_url, body)
    assert again.status_code == 200
    assert again.json()["status"] == "expired"
    assert again.json()["ended"] == {"reason": "no_agent_waiting", "by": None}
    waited = agent.get(f"{agent.question_url(asked['id'])}?wait=5").json()
    assert waited["ended"] == {"reason": "no_agent_waiting", "by": None}


@pytest.mark.parametrize("ends", ["deadline", "agent", "person", "room_archived"])
def test_every_end_says_its_reason(agent: Any, room: Room, ana: Any, overdue: Question, ends: str) -> None:
    verbs: dict[str, Callable[[], object]] = {
        "deadline": lifecycle.sweep,
        "agent": lambda: agent.delete(agent.question_url(overdue.pk)),
        "person": lambda: lifecycle.withdraw_open(room.questions.all(), by=ana),
        "room_archived": lambda: lifecycle.archive_room(room, by=ana),
    }
    verbs[ends]()
    by_ana = {"username": "ana", "name": "Ana Costa"}
    ended = {"reason": ends, "by": by_ana if ends in ("person", "room_archived") else None}
    assert read(overdue).why_ended == ended
    card = cards.render_card(read(overdue))
    outcomes = {
        "deadline": "Expired without an answer",
        "agent": "Withdrawn by the agent",
        "person": "Withdrawn by Ana Costa",
        "room_archived": "Closed: the room was archived",
    }
    assert outcomes[ends] in card


def test_a_decision_has_no_end_beside_its_answer(agent: Any, question: Question, ana: Any) -> None:
    assert agent.get(agent.question_url(question.pk)).json()["ended"] is None
    lifecycle.decline(question, ana)
    assert agent.get(agent.question_url(question.pk)).json()["ended"] is None


def test_rows_from_before_say_what_is_known(question: Question) -> None:
    lifecycle.withdraw(question)
    Question.objects.update(ended=None)
    assert read(question).why_ended == {"reason": "agent", "by": None}


# ---- sites from before -----------------------------------------------------------------------------------


class Editor:
    connection = connection


def test_an_upgrade_gives_open_questions_a_day_and_names_who_withdrew(
    ask: Callable[..., Question], room: Room, ana: Any
) -> None:
    left, waited_for, taken_back, withdrawn = (ask() for _ in range(4))
    lifecycle.wait_started(waited_for.pk)
    lifecycle.withdraw(taken_back)
    lifecycle.withdraw(withdrawn, by=ana)
    Question.objects.update(is_attended=False, closes_at=None, ended=None)

    migration = import_module("rooms.migrations.0012_ending")
    migration.attend(apps, Editor)
    migration.name_who_withdrew(apps, Editor)

    assert (read(left).is_attended, read(waited_for).is_attended) == (False, True)
    closes_at = read(left).closes_at
    assert closes_at is not None
    assert closes_at > timezone.now() + DAY - timedelta(minutes=5)
    assert read(waited_for).closes_at is None
    assert read(taken_back).why_ended == {"reason": "agent", "by": None}
    assert read(withdrawn).why_ended == {"reason": "person", "by": {"username": "ana", "name": "ana"}}
