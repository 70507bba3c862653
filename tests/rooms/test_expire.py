"""Expiring: the deadline passed, and only a default that the question named becomes its answer."""

from collections.abc import Callable
from typing import Any

import pytest

from rooms import lifecycle
from rooms.models import Answer, Question


def test_expired_question_has_no_answer(overdue: Question) -> None:
    expired = lifecycle.expire(overdue)
    assert expired.status == "expired"
    assert expired.settled_at is not None
    assert expired.answer_or_none is None


def test_default_of_the_question_becomes_its_answer(ask: Callable[..., Question]) -> None:
    question = ask(timeout_seconds=60, default={"Which database should we use?": ["SQLite"]})
    expired = lifecycle.expire(question)
    assert expired.status == "expired"
    assert expired.answer.via == "default"
    assert expired.answer.username == ""
    assert expired.answer.choices[0]["selectedOptions"] == ["SQLite"]
    assert expired.answer.choices[0]["header"] == "Database"


def test_answered_question_does_not_expire(question: Question, ana: Any) -> None:
    lifecycle.decline(question, ana)
    with pytest.raises(lifecycle.AlreadySettled) as late:
        lifecycle.expire(question)
    assert late.value.question.status == "declined"


def test_sweep_expires_what_is_due_and_nothing_else(
    ask: Callable[..., Question], make_overdue: Callable[[Question], Question]
) -> None:
    due = make_overdue(ask())
    later, endless = ask(timeout_seconds=3600), ask()
    lifecycle.sweep()
    assert [Question.objects.get(pk=question.pk).status for question in (due, later, endless)] == [
        "expired",
        "open",
        "open",
    ]


def test_sweep_gives_the_default(
    ask: Callable[..., Question], make_overdue: Callable[[Question], Question]
) -> None:
    make_overdue(ask(default={"Which database should we use?": ["SQLite"]}))
    lifecycle.sweep()
    assert Answer.objects.get().via == "default"


def test_second_sweep_changes_nothing(overdue: Question, hints: list[dict[str, Any]], committed: Any) -> None:
    with committed():
        lifecycle.sweep()
        lifecycle.sweep()
    assert [(hint["question_id"], hint["is_settled"]) for hint in hints] == [(overdue.pk, True)]


def test_default_without_deadline_never_happens(ask: Callable[..., Question]) -> None:
    question = ask(default={"Which database should we use?": ["SQLite"]})
    lifecycle.sweep()
    question.refresh_from_db()
    assert question.is_open
