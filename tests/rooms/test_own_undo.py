"""A person's own undo window: holds back their own answers, with and without care."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from rooms import lifecycle
from rooms.models import Answer, Preferences, Question
from rooms.people import preferences

Ask = Callable[..., Question]
TEXT = "Which database should we use?"


def answer(question: Question, user: Any, label: str = "SQLite", undo_seconds: int = 0) -> Question:
    choice = {"question": TEXT, "selectedOptions": [label]}
    return lifecycle.answer(question, [choice], via=Answer.Via.WEB, user=user, undo_seconds=undo_seconds)


def now(question: Question) -> Question:
    return Question.objects.with_answer().get(pk=question.pk)


def after_the_window(question: Question) -> Question:
    past = timezone.now() - timedelta(seconds=1)
    Question.objects.filter(pk=question.pk).update(held_until=past)
    lifecycle.sweep()
    return now(question)


def test_answer_is_held_for_the_own_window_and_then_given(agent: Any, question: Question, ana: Any) -> None:
    held = answer(question, ana, undo_seconds=10)
    assert (held.status, held.is_held) == ("open", True)
    assert agent.read(question.pk)["status"] == "open"
    assert agent.read(question.pk)["answer"] is None
    settled = after_the_window(question)
    assert settled.status == "answered"
    assert (settled.answer.username, settled.answer.via) == ("ana", "web")
    call_command("verify_audit")


def test_without_a_window_the_answer_is_given_at_once(question: Question, ana: Any) -> None:
    assert answer(question, ana).status == "answered"


def test_own_decision_is_undone_and_can_be_made_again(question: Question, ana: Any, ben: Any) -> None:
    answer(question, ana, undo_seconds=10)
    opened = lifecycle.undo(now(question), ana)
    assert (opened.status, opened.is_held, opened.votes) == ("open", False, [])
    settled = answer(now(question), ben, "PostgreSQL (Recommended)")
    assert (settled.status, settled.answer.username, settled.decided_by) == ("answered", "ben", [])
    call_command("verify_audit")


def test_others_can_not_undo_it_nor_decide_meanwhile(question: Question, ana: Any, ben: Any) -> None:
    stale = now(question)
    answer(question, ana, undo_seconds=10)
    for verb in (
        lambda: lifecycle.undo(now(question), ben),
        lambda: answer(stale, ben),
        lambda: answer(stale, ben, undo_seconds=5),
        lambda: lifecycle.decline(stale, ben),
        lambda: lifecycle.ask_back(stale, ben, "Why?"),
        lambda: lifecycle.expire(stale),
        lambda: lifecycle.close_stale(stale),
    ):
        with pytest.raises(lifecycle.AlreadySettled) as late:
            verb()
        assert late.value.question.is_held
    assert after_the_window(question).answer.username == "ana"


def test_undo_after_the_release_comes_too_late(question: Question, ana: Any) -> None:
    held = answer(question, ana, undo_seconds=10)
    after_the_window(question)
    with pytest.raises(lifecycle.AlreadySettled):
        lifecycle.undo(held, ana)
    with pytest.raises(lifecycle.AlreadySettled):
        lifecycle.release(held)
    assert Answer.objects.filter(question=question).count() == 1


def test_release_after_an_undo_gives_no_answer(question: Question, ana: Any) -> None:
    held = answer(question, ana, undo_seconds=10)
    lifecycle.undo(held, ana)
    with pytest.raises(lifecycle.AlreadySettled):
        lifecycle.release(held)
    assert now(question).is_open


def test_a_release_that_comes_late_leaves_the_next_decision_its_window(question: Question, ana: Any) -> None:
    """As of a sweep that found the first decision due just before it was undone."""
    found_due = answer(question, ana, undo_seconds=5)
    decided_again = answer(lifecycle.undo(found_due, ana), ana, undo_seconds=30)
    with pytest.raises(lifecycle.AlreadySettled):
        lifecycle.release(found_due)
    assert now(question).is_held
    assert lifecycle.release(decided_again).status == "answered"


def test_answer_from_the_terminal_counts_more_than_a_held_one(
    agent: Any, question: Question, ana: Any
) -> None:
    held = answer(question, ana, undo_seconds=10)
    choice = {"question": TEXT, "selectedOptions": ["PostgreSQL (Recommended)"]}
    # The agent read the question before it was held.
    settled = lifecycle.answer(question, [choice], via=Answer.Via.TERMINAL)
    assert (settled.status, settled.answer.via, settled.decided_by) == ("answered", "terminal", [])
    for late in (lambda: lifecycle.release(held), lambda: lifecycle.undo(held, ana)):
        with pytest.raises(lifecycle.AlreadySettled):
            late()
    call_command("verify_audit")


def test_agent_can_withdraw_a_held_question(question: Question, ana: Any) -> None:
    answer(question, ana, undo_seconds=10)
    assert lifecycle.withdraw(now(question)).status == "withdrawn"


def test_own_window_ends_at_the_deadline_and_silence_does_not_replace_the_answer(ask: Ask, ana: Any) -> None:
    question = ask(timeout_seconds=25, default={TEXT: "SQLite"})
    held = answer(question, ana, "PostgreSQL (Recommended)", undo_seconds=30)
    assert held.held_until == question.expires_at
    past = timezone.now() - timedelta(seconds=1)
    Question.objects.filter(pk=question.pk).update(expires_at=past, held_until=past)
    lifecycle.sweep()
    settled = now(question)
    assert (settled.status, settled.answer.via) == ("answered", "web")


def test_undone_after_the_deadline_the_question_expires(question: Question, ana: Any) -> None:
    answer(question, ana, undo_seconds=30)
    Question.objects.filter(pk=question.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    lifecycle.sweep()
    assert now(question).is_held
    lifecycle.undo(now(question), ana)
    lifecycle.sweep()
    assert now(question).status == "expired"


@pytest.mark.parametrize(("asked", "own", "expected"), [(60, 5, 60), (5, 30, 30)])
def test_longer_one_of_two_windows_counts(ask: Ask, ana: Any, asked: int, own: int, expected: int) -> None:
    question = ask(care={"undo_seconds": asked})
    before = timezone.now()
    held = answer(question, ana, undo_seconds=own)
    assert held.held_until is not None
    assert before <= held.held_until - timedelta(seconds=expected) <= timezone.now()


def test_window_of_a_careful_question_stays_for_all(ask: Ask, ana: Any, ben: Any) -> None:
    question = ask(care={"undo_seconds": 5})
    answer(question, ana, undo_seconds=30)
    assert not lifecycle.undo(now(question), ben).is_held


def test_own_undo_removes_the_own_vote_only(ask: Ask, ana: Any, ben: Any) -> None:
    question = ask(care={"votes": 2})
    answer(question, ana)
    assert answer(now(question), ben, undo_seconds=10).is_held
    with pytest.raises(lifecycle.AlreadySettled):
        lifecycle.undo(now(question), ana)
    opened = lifecycle.undo(now(question), ben)
    assert [vote["username"] for vote in opened.votes or ()] == ["ana"]


# ---- the page and the setting ----------------------------------------------------------------------------


def choose(user: Any, seconds: int) -> None:
    Preferences.objects.update_or_create(pk=user.pk, defaults={"undo_seconds": seconds})


def test_page_holds_the_answer_and_offers_undo_to_its_person_only(
    browser: Client, question: Question, ana: Any, ben: Any
) -> None:
    choose(ana, 10)
    address = f"/rooms/ops/questions/{question.pk}"
    held = browser.post(f"{address}/answer", {"choice-0": "1"}, HTTP_HX_REQUEST="true").content.decode()
    assert "Sent to the agent" in held
    assert f'action="{address}/undo"' in held
    bens = Client()
    bens.force_login(ben)
    assert "/undo" not in bens.get(address).content.decode()
    assert bens.post(f"{address}/undo").status_code == 409
    assert browser.post(f"{address}/undo").status_code == 303
    assert not now(question).is_held


def test_same_form_sent_twice_is_no_lost_answer(browser: Client, question: Question, ana: Any) -> None:
    choose(ana, 10)
    address = f"/rooms/ops/questions/{question.pk}/answer"
    for _ in range(2):
        assert browser.post(address, {"choice-0": "1"}).status_code == 303


def test_held_answers_count_among_the_answers_of_a_minute(
    settings: Any, browser: Client, ask: Ask, ana: Any
) -> None:
    settings.ASK_BRIDGE = {**settings.ASK_BRIDGE, "ANSWERS_PER_MINUTE": 1}
    choose(ana, 10)
    first, second = ask(), ask()
    assert browser.post(f"/rooms/ops/questions/{first.pk}/answer", {"choice-0": "1"}).status_code == 303
    assert browser.post(f"/rooms/ops/questions/{second.pk}/answer", {"choice-0": "1"}).status_code == 429


@pytest.mark.parametrize(("sent", "stored"), [("10", 10), ("0", 0), ("7", 0), ("", 0), ("x", 0)])
def test_setting_is_saved_and_only_what_is_offered(browser: Client, ana: Any, sent: str, stored: int) -> None:
    browser.post("/settings", {"undo_seconds": sent})
    assert preferences.undo_seconds_of(ana) == stored
    assert f'<option value="{stored}" selected>' in browser.get("/settings").content.decode()
