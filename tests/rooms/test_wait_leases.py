"""Waiting: an agent's presence is a lease that it renews, ends or lets expire."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from rooms import access, lifecycle
from rooms.models import Question, Room


def let_lease_run_out(question: Question) -> None:
    Question.objects.filter(pk=question.pk).update(waiting_until=timezone.now() - timedelta(seconds=1))


def test_waiting_agent_is_active_for_the_length_of_a_lease(question: Question) -> None:
    before = timezone.now()
    lifecycle.wait_started(question.pk)
    question.refresh_from_db()
    assert question.agent_is_waiting
    assert question.waiting_until is not None
    assert question.waiting_until >= before + timedelta(seconds=lifecycle.LEASE_SECONDS)
    assert question.last_seen_at is not None
    assert question.last_seen_at >= before


def test_first_wait_is_told_and_renewals_are_not(
    question: Question, room: Room, hints: list[dict[str, Any]], committed: Any
) -> None:
    with committed():
        lifecycle.wait_started(question.pk)
        lifecycle.wait_started(question.pk)
        lifecycle.renew_leases([question.pk])
    assert hints == [{"room_id": room.pk, "revision": 2, "question_id": question.pk, "is_settled": False}]


def test_renewal_prolongs_the_lease(question: Question) -> None:
    lifecycle.wait_started(question.pk)
    let_lease_run_out(question)
    lifecycle.renew_leases([question.pk])
    question.refresh_from_db()
    assert question.agent_is_waiting


def test_renewal_brings_back_an_agent_that_was_marked_as_gone(question: Question) -> None:
    lifecycle.wait_started(question.pk)
    lifecycle.wait_ended(question.pk)
    lifecycle.renew_leases([question.pk])
    question.refresh_from_db()
    assert question.agent_is_waiting


def test_agent_that_stops_waiting_is_inactive_at_once(question: Question) -> None:
    lifecycle.wait_started(question.pk)
    lifecycle.wait_ended(question.pk)
    question.refresh_from_db()
    assert question.is_open
    assert not question.agent_active
    assert not question.agent_is_waiting
    assert question.last_seen_at is not None


def test_stopping_twice_is_told_once(question: Question, hints: list[dict[str, Any]], committed: Any) -> None:
    lifecycle.wait_started(question.pk)
    with committed():
        lifecycle.wait_ended(question.pk)
        lifecycle.wait_ended(question.pk)
    assert len(hints) == 1


def test_stopping_without_having_waited_changes_nothing(question: Question) -> None:
    lifecycle.wait_ended(question.pk)
    question.refresh_from_db()
    assert question.revision == 1


def test_agent_shows_as_gone_when_its_lease_runs_out_before_any_sweep(question: Question) -> None:
    lifecycle.wait_started(question.pk)
    let_lease_run_out(question)
    question.refresh_from_db()
    assert not question.agent_is_waiting


def test_sweep_marks_agents_that_vanished_and_tells_once(
    question: Question, hints: list[dict[str, Any]], committed: Any
) -> None:
    lifecycle.wait_started(question.pk)
    let_lease_run_out(question)
    with committed():
        lifecycle.sweep()
        lifecycle.sweep()
    question.refresh_from_db()
    assert not question.agent_active
    assert [hint["question_id"] for hint in hints] == [question.pk]


def test_sweep_leaves_waiting_agents_alone(question: Question) -> None:
    lifecycle.wait_started(question.pk)
    lifecycle.sweep()
    question.refresh_from_db()
    assert question.agent_is_waiting


@pytest.mark.parametrize(
    "verb",
    [lifecycle.wait_started, lifecycle.wait_ended, lambda question_id: lifecycle.renew_leases([question_id])],
    ids=["wait_started", "wait_ended", "renew_leases"],
)
def test_settled_question_is_not_waited_for(question: Question, verb: Callable[[str], None]) -> None:
    settled = lifecycle.withdraw(question)
    verb(question.pk)
    question.refresh_from_db()
    assert question.revision == settled.revision
    assert not question.agent_active


def test_questions_are_waited_for_independently(ask: Callable[..., Question]) -> None:
    first, second = ask(), ask()
    lifecycle.wait_started(first.pk)
    lifecycle.wait_started(second.pk)
    lifecycle.wait_ended(first.pk)
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.agent_is_waiting, second.agent_is_waiting) == (False, True)


def test_a_key_waits_for_its_newest_open_questions(
    ask: Callable[..., Question], key: Any, room: Room, ana: Any
) -> None:
    first, settled, last = ask(), ask(), ask()
    lifecycle.decline(settled, ana)
    other_key, _ = access.create_key(room, label="other")
    assert lifecycle.asked_with(key[0].pk) == [last.pk, first.pk]
    assert lifecycle.asked_with(other_key.pk) == []


def test_pausing_several_waits_leaves_agents_expected(ask: Callable[..., Question]) -> None:
    waited_for, never = ask(), ask()
    lifecycle.wait_started(waited_for.pk)
    lifecycle.pause_waits([waited_for.pk, never.pk])
    waited_for.refresh_from_db()
    never.refresh_from_db()
    assert (waited_for.agent_is_waiting, never.agent_active) == (True, False)
    assert waited_for.waiting_until is not None
    assert waited_for.waiting_until < timezone.now() + timedelta(seconds=lifecycle.LEASE_SECONDS)
