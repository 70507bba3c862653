"""Default answers: used only after people had time to answer, never where votes or named people decide."""

from collections.abc import Callable
from typing import Any

import pytest

from rooms import lifecycle
from rooms.models import Answer, Question, Room

Ask = Callable[..., Question]
DEFAULT = {"Which database should we use?": "SQLite"}


def send(agent: Any, body: dict[str, Any], **fields: Any) -> Any:
    return agent.post(agent.questions_url, {**body, "default": DEFAULT, **fields})


def set_care(room: Room, **care: Any) -> None:
    none = {"first": None, "votes": None, "undo_seconds": None, "escalate_seconds": None}
    Room.objects.filter(pk=room.pk).update(care={**none, **care})


FOR_PEOPLE = {
    "votes": {"votes": {"needed": 2, "of": []}},
    "named voters": {"votes": {"needed": 2, "of": ["ana", "ben"]}},
    "named people": {"first": {"people": ["ana"], "role": None}},
    "a role": {"first": {"people": [], "role": "manager"}},
}


# ---- votes and named people ------------------------------------------------------------------------------


@pytest.mark.parametrize("care", FOR_PEOPLE.values(), ids=FOR_PEOPLE)
@pytest.mark.parametrize("timeout", [None, 5, 3600])
def test_a_question_for_people_takes_no_default(
    agent: Any, body: dict[str, Any], problem: Any, care: dict[str, Any], timeout: float | None
) -> None:
    refused = problem(send(agent, body, care=care, timeout_seconds=timeout), 422, "invalid_question")
    (error,) = refused["errors"]
    assert error["field"] == "default"
    assert "votes or named people have to decide this question" in error["message"]
    assert not Question.objects.exists()


@pytest.mark.parametrize("care", FOR_PEOPLE.values(), ids=FOR_PEOPLE)
def test_a_room_that_wants_people_to_decide_takes_no_default(
    agent: Any, room: Room, body: dict[str, Any], problem: Any, care: dict[str, Any]
) -> None:
    set_care(room, **care)
    refused = problem(send(agent, body, timeout_seconds=3600), 422, "invalid_question")
    assert [error["field"] for error in refused["errors"]] == ["default"]
    assert not Question.objects.exists()
    assert agent.post(agent.questions_url, body).status_code == 201


@pytest.mark.parametrize("care", FOR_PEOPLE.values(), ids=FOR_PEOPLE)
def test_a_room_that_wants_people_only_later_has_no_default_either(
    ask: Ask, room: Room, make_overdue: Any, care: dict[str, Any]
) -> None:
    question = make_overdue(ask(default=DEFAULT, timeout_seconds=60))
    set_care(room, **care)
    lifecycle.sweep()
    question = Question.objects.get(pk=question.pk)
    assert (question.status, question.ending.sender_type) == ("expired", "system")
    assert not Answer.objects.exists()


def test_a_question_for_people_from_before_this_rule_expires_without_its_default(
    ask: Ask, make_overdue: Any
) -> None:
    question = make_overdue(ask(care={"votes": 2}, timeout_seconds=60))
    choices = [{"question": next(iter(DEFAULT)), "selectedOptions": ["SQLite"]}]
    Question.objects.update(default_choices=choices)
    lifecycle.sweep()
    assert Question.objects.get(pk=question.pk).status == "expired"
    assert not Answer.objects.exists()


def test_the_same_ask_again_is_the_same_question_although_the_room_became_careful(
    agent: Any, room: Room, body: dict[str, Any]
) -> None:
    first = send(agent, body, timeout_seconds=3600, session_id="s", tool_use_id="t")
    set_care(room, votes={"needed": 2, "of": []})
    again = send(agent, body, timeout_seconds=3600, session_id="s", tool_use_id="t")
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["id"] == first.json()["id"]


# ---- time ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("timeout", [0.001, 1, 4.9])
def test_a_default_leaves_people_some_seconds(
    agent: Any, body: dict[str, Any], problem: Any, timeout: float
) -> None:
    refused = problem(send(agent, body, timeout_seconds=timeout), 422, "invalid_question")
    (error,) = refused["errors"]
    assert error == {
        "field": "default",
        "message": "needs a timeout_seconds of at least 5, so that people can answer",
    }
    assert send(agent, body, timeout_seconds=5).status_code == 201


def test_without_a_default_a_question_may_be_as_short_as_one_likes(agent: Any, body: dict[str, Any]) -> None:
    assert agent.post(agent.questions_url, {**body, "timeout_seconds": 0.001}).status_code == 201


@pytest.mark.parametrize("by_room", [True, False])
def test_managers_are_told_before_a_default_counts(
    agent: Any, room: Room, body: dict[str, Any], problem: Any, by_room: bool
) -> None:
    care = {"escalate_seconds": 600}
    if by_room:
        set_care(room, **care)
    own = {} if by_room else {"care": care}
    refused = problem(send(agent, body, timeout_seconds=600, **own), 422, "invalid_question")
    assert refused["errors"][0]["message"].endswith("of more than escalate_seconds, which is 600 here")
    assert send(agent, body, timeout_seconds=601, **own).status_code == 201


def test_a_default_counts_where_a_choice_could_be_undone(ask: Ask, room: Room, make_overdue: Any) -> None:
    """An undo window is for clicks: until its deadline people can decide otherwise."""
    set_care(room, undo_seconds=10)
    room.refresh_from_db()
    make_overdue(ask(default=DEFAULT, timeout_seconds=60))
    lifecycle.sweep()
    assert Answer.objects.get().via == "default"
