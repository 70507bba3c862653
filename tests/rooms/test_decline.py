"""Declining: a person pressed Skip."""

from typing import Any

import pytest

from rooms import lifecycle
from rooms.models import Answer, Question


def test_skip_settles_without_a_choice(question: Question, ana: Any) -> None:
    declined = lifecycle.decline(question, ana)
    assert declined.status == "declined"
    assert declined.settled_at is not None
    assert declined.answer.choices == []
    assert declined.answer.reason == ""


def test_skip_names_the_person_and_their_reason(question: Question, ana: Any) -> None:
    given = lifecycle.decline(question, ana, "Ask me tomorrow.").answer
    assert (given.via, given.username, given.person_name) == ("web", "ana", "Ana Costa")
    assert given.reason == "Ask me tomorrow."


def test_skip_after_an_answer_is_refused(question: Question, ana: Any, ben: Any) -> None:
    choice = {"question": "Which database should we use?", "selectedOptions": ["SQLite"]}
    lifecycle.answer(question, [choice], via=Answer.Via.WEB, user=ana)
    with pytest.raises(lifecycle.AlreadySettled) as late:
        lifecycle.decline(question, ben)
    assert late.value.question.status == "answered"


def test_answer_after_a_skip_is_refused(question: Question, ana: Any, ben: Any) -> None:
    lifecycle.decline(question, ana)
    choice = {"question": "Which database should we use?", "selectedOptions": ["SQLite"]}
    with pytest.raises(lifecycle.AlreadySettled) as late:
        lifecycle.answer(question, [choice], via=Answer.Via.WEB, user=ben)
    assert late.value.question.status == "declined"
    assert late.value.question.answer.username == "ana"


def test_skip_after_the_deadline_is_late(overdue: Question, ana: Any) -> None:
    with pytest.raises(lifecycle.AlreadySettled) as late:
        lifecycle.decline(overdue, ana)
    assert late.value.question.status == "expired"


def test_listeners_are_told_that_it_is_settled(
    question: Question, ana: Any, hints: list[dict[str, Any]], committed: Any
) -> None:
    with committed():
        lifecycle.decline(question, ana)
    assert [(hint["question_id"], hint["is_settled"]) for hint in hints] == [(question.pk, True)]
