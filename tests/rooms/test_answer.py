"""Answering: the first one wins, and only what was offered can be chosen."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from rooms import lifecycle
from rooms.contract.types import InvalidPayload
from rooms.models import Answer, Question, Room

SQLITE = {"question": "Which database should we use?", "selectedOptions": ["SQLite"]}
POSTGRES = {"question": "Which database should we use?", "selectedOptions": ["PostgreSQL (Recommended)"]}


def answer(question: Question, user: Any, choice: dict[str, Any] = SQLITE) -> Question:
    return lifecycle.answer(question, [choice], via=Answer.Via.WEB, user=user)


def test_answer_settles_the_question(question: Question, ana: Any) -> None:
    answered = answer(question, ana)
    assert answered.status == "answered"
    assert answered.settled_at is not None
    assert answered.answer.answered_at == answered.settled_at
    assert answered.answer.choices == [
        {
            "question": "Which database should we use?",
            "header": "Database",
            "selectedOptions": ["SQLite"],
            "customInput": None,
            "notes": None,
        }
    ]


def test_answer_names_the_person_by_full_name(question: Question, ana: Any) -> None:
    given = answer(question, ana).answer
    assert (given.user, given.username, given.person_name) == (ana, "ana", "Ana Costa")


def test_person_without_full_name_is_named_by_username(question: Question, ben: Any) -> None:
    assert answer(question, ben).answer.person_name == "ben"


def test_names_stay_when_the_person_is_deleted(question: Question, ana: Any) -> None:
    answer(question, ana)
    ana.delete()
    given = Answer.objects.get()
    assert (given.user, given.username, given.person_name) == (None, "ana", "Ana Costa")


@pytest.mark.parametrize("via", [Answer.Via.TERMINAL, Answer.Via.API])
def test_reported_answer_names_no_person(question: Question, via: Answer.Via) -> None:
    given = lifecycle.answer(question, [SQLITE], via=via).answer
    assert (given.via, given.user, given.username, given.person_name) == (via, None, "", "")


def test_second_answer_is_refused_and_told_who_won(question: Question, ana: Any, ben: Any) -> None:
    answer(question, ana)
    with pytest.raises(lifecycle.AlreadySettled) as late:
        answer(question, ben, POSTGRES)
    assert late.value.question.answer.person_name == "Ana Costa"
    assert late.value.question.answer.choices[0]["selectedOptions"] == ["SQLite"]
    assert Answer.objects.count() == 1


def test_second_answer_of_the_same_person_is_refused_as_well(question: Question, ana: Any) -> None:
    answer(question, ana)
    with pytest.raises(lifecycle.AlreadySettled):
        answer(question, ana)


def test_refused_answer_takes_no_revision(question: Question, room: Room, ana: Any, ben: Any) -> None:
    answer(question, ana)
    with pytest.raises(lifecycle.AlreadySettled):
        answer(question, ben)
    room.refresh_from_db()
    assert room.revision == 2


def test_database_takes_only_one_answer_to_a_question(question: Question, ana: Any) -> None:
    answered = answer(question, ana)
    with pytest.raises(IntegrityError), transaction.atomic():
        Answer.objects.create(question=answered, room=answered.room, via="web", position=99)


@pytest.mark.parametrize(
    "choices",
    [
        [],
        [{**SQLITE, "selectedOptions": ["MySQL"]}],
        [{**SQLITE, "selectedOptions": []}],
        [{**SQLITE, "question": "Another?"}],
        [{**SQLITE, "selectedOptions": ["SQLite", "PostgreSQL (Recommended)"]}],
    ],
)
def test_answer_that_does_not_fit_changes_nothing(
    question: Question, ana: Any, choices: list[dict[str, Any]]
) -> None:
    with pytest.raises(InvalidPayload):
        lifecycle.answer(question, choices, via=Answer.Via.WEB, user=ana)
    question.refresh_from_db()
    assert question.is_open
    assert question.revision == 1
    assert not Answer.objects.exists()


def test_all_prompts_are_answered_together(ask: Callable[..., Question], ana: Any) -> None:
    question = ask(
        questions=[
            {"question": "Which?", "options": ["A", "B"]},
            {"question": "Which ones?", "options": ["C", "D", "E"], "multiSelect": True},
        ]
    )
    choices: list[dict[str, Any]] = [
        {"question": "Which ones?", "selectedOptions": ["E", "C"], "customInput": "F"},
        {"question": "Which?", "customInput": "neither", "notes": "see below"},
    ]
    given = lifecycle.answer(question, choices, via=Answer.Via.WEB, user=ana).answer.choices
    assert [choice["question"] for choice in given] == ["Which?", "Which ones?"]
    assert given[0]["customInput"] == "neither"
    assert given[0]["notes"] == "see below"
    assert (given[1]["selectedOptions"], given[1]["customInput"]) == (["C", "E"], "F")


def test_answer_takes_the_next_revision_as_its_position(question: Question, room: Room, ana: Any) -> None:
    answered = answer(question, ana)
    assert answered.position == 1
    assert answered.revision == answered.answer.position == 2
    room.refresh_from_db()
    assert room.revision == 2


def test_listeners_are_told_that_it_is_settled(
    question: Question, room: Room, ana: Any, hints: list[dict[str, Any]], committed: Any
) -> None:
    with committed():
        answer(question, ana)
    assert hints == [{"room_id": room.pk, "revision": 2, "question_id": question.pk, "is_settled": True}]


def test_question_whose_agent_left_can_still_be_answered(question: Question, ana: Any) -> None:
    lifecycle.wait_started(question.pk)
    lifecycle.wait_ended(question.pk)
    assert answer(question, ana).status == "answered"


def test_answer_before_the_deadline_counts(ask: Callable[..., Question], ana: Any) -> None:
    assert answer(ask(timeout_seconds=60), ana).status == "answered"


def test_answer_after_the_deadline_is_late_even_before_a_sweep(overdue: Question, ana: Any) -> None:
    with pytest.raises(lifecycle.AlreadySettled) as late:
        answer(overdue, ana)
    assert late.value.question.status == "expired"
    assert not Answer.objects.exists()


def test_late_answer_loses_to_the_default(
    ask: Callable[..., Question], make_overdue: Callable[[Question], Question], ana: Any
) -> None:
    question = make_overdue(
        ask(timeout_seconds=60, default={"Which database should we use?": "PostgreSQL (Recommended)"})
    )
    with pytest.raises(lifecycle.AlreadySettled) as late:
        answer(question, ana)
    given = late.value.question.answer
    assert given.via == "default"
    assert given.choices[0]["selectedOptions"] == ["PostgreSQL (Recommended)"]


def test_stale_object_of_an_expired_question_is_refused(ask: Callable[..., Question], ana: Any) -> None:
    question = ask(timeout_seconds=60)
    lifecycle.expire(Question.objects.get(pk=question.pk))
    assert question.is_open, "this object has not heard of it"
    with pytest.raises(lifecycle.AlreadySettled):
        answer(question, ana)


def test_database_refuses_a_settled_question_without_time(question: Question) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Question.objects.filter(pk=question.pk).update(status="answered")
    with pytest.raises(IntegrityError), transaction.atomic():
        Question.objects.filter(pk=question.pk).update(settled_at=timezone.now() + timedelta(1))
