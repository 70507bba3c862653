"""Delivering: the result has reached an agent that waited for it."""

from typing import Any

import pytest

from rooms import lifecycle
from rooms.models import Answer, Question, Room


@pytest.fixture
def declined(question: Question, ana: Any) -> Question:
    return lifecycle.decline(question, ana)


def test_delivery_is_noted_with_its_time(declined: Question) -> None:
    lifecycle.deliver(declined.pk)
    delivered = Question.objects.get(pk=declined.pk)
    assert delivered.delivered_at is not None
    assert delivered.settled_at is not None
    assert delivered.delivered_at >= delivered.settled_at
    assert delivered.status == "declined"


def test_delivery_is_told_as_a_change_that_settles_nothing(
    declined: Question, room: Room, hints: list[dict[str, Any]], committed: Any
) -> None:
    with committed():
        lifecycle.deliver(declined.pk)
    assert hints == [
        {
            "room_id": room.pk,
            "revision": declined.revision + 1,
            "question_id": declined.pk,
            "is_settled": False,
        }
    ]


def test_second_delivery_changes_nothing(declined: Question) -> None:
    lifecycle.deliver(declined.pk)
    first = Question.objects.get(pk=declined.pk)
    lifecycle.deliver(declined.pk)
    again = Question.objects.get(pk=declined.pk)
    assert (again.delivered_at, again.revision) == (first.delivered_at, first.revision)


def test_open_question_cannot_be_delivered(question: Question) -> None:
    lifecycle.deliver(question.pk)
    question.refresh_from_db()
    assert question.delivered_at is None
    assert question.revision == 1


def test_delivery_of_a_question_that_is_not_there_is_nothing(db: None) -> None:
    lifecycle.deliver("q_missing")


def test_what_the_agent_reports_itself_is_delivered_already(question: Question) -> None:
    prompt = question.prompts[0]
    choice = {"question": prompt["question"], "selectedOptions": ["SQLite"]}
    answered = lifecycle.answer(question, [choice], via=Answer.Via.TERMINAL)
    assert answered.delivered_at == answered.settled_at
