"""GET and DELETE /api/v1/questions/{id}, DELETE …/wait. Waits that sleep are tested with a real server."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from rooms import lifecycle
from rooms.models import Answer, Question

SQLITE = {"question": "Which database should we use?", "selectedOptions": ["SQLite"]}


def test_open_question_has_no_answer(agent: Any, question: Question) -> None:
    reply = agent.get(agent.question_url(question.pk)).json()
    assert (reply["id"], reply["status"], reply["answer"]) == (question.pk, "open", None)


def test_answered_question_tells_who_what_and_when(agent: Any, question: Question, ana: Any) -> None:
    choice = {**SQLITE, "notes": "small is fine"}
    answered = lifecycle.answer(question, [choice], via=Answer.Via.WEB, user=ana)
    reply = agent.get(agent.question_url(question.pk)).json()
    assert reply["status"] == "answered"
    assert reply["settled_at"] == reply["answer"]["at"]
    assert reply["revision"] == answered.revision == 2
    assert reply["answer"] == {
        "kind": "choice",
        "by": {"username": "ana", "name": "Ana Costa"},
        "via": "web",
        "through": None,
        "at": reply["settled_at"],
        "answers": [
            {
                "question": "Which database should we use?",
                "header": "Database",
                "selectedOptions": ["SQLite"],
                "customInput": None,
                "notes": "small is fine",
            }
        ],
        "reason": None,
        "votes": [],
    }


def test_declined_question_tells_who_and_why(agent: Any, question: Question, ben: Any) -> None:
    lifecycle.decline(question, ben, "Not my area.")
    answer = agent.get(agent.question_url(question.pk)).json()["answer"]
    assert (answer["by"], answer["answers"]) == ({"username": "ben", "name": "ben"}, [])
    assert answer["reason"] == "Not my area."


def test_expired_question_has_an_answer_only_by_its_default(agent: Any, ask: Callable[..., Question]) -> None:
    plain = lifecycle.expire(ask(timeout_seconds=1))
    default = lifecycle.expire(ask(timeout_seconds=60, default={"Which database should we use?": "SQLite"}))
    assert agent.get(agent.question_url(plain.pk)).json()["answer"] is None
    answer = agent.get(agent.question_url(default.pk)).json()["answer"]
    assert (answer["by"], answer["via"]) == (None, "default")
    assert answer["answers"][0]["selectedOptions"] == ["SQLite"]


def test_reading_is_no_sign_of_life_and_no_delivery(agent: Any, question: Question) -> None:
    assert agent.get(agent.question_url(question.pk)).json()["agent"]["active"] is False
    lifecycle.withdraw(question)
    agent.get(agent.question_url(question.pk))
    assert Question.objects.get().delivered_at is None


def test_waiting_past_the_deadline_is_told_of_it_before_any_sweep(
    agent: Any, ask: Callable[..., Question], make_overdue: Any
) -> None:
    question = make_overdue(ask(default={"Which database should we use?": "SQLite"}))
    reply = agent.get(f"{agent.question_url(question.pk)}?wait=0").json()
    assert (reply["status"], reply["answer"]["via"]) == ("expired", "default")
    assert Question.objects.get().delivered_at is not None


def test_waiting_makes_the_agent_active(agent: Any, question: Question) -> None:
    reply = agent.get(f"{agent.question_url(question.pk)}?wait=0").json()
    assert reply["agent"]["active"] is True
    assert reply["agent"]["last_seen_at"] is not None


def test_agent_is_inactive_when_its_lease_has_run_out(agent: Any, question: Question) -> None:
    agent.get(f"{agent.question_url(question.pk)}?wait=0")
    Question.objects.update(waiting_until=timezone.now() - timedelta(seconds=1))
    assert agent.get(agent.question_url(question.pk)).json()["agent"]["active"] is False


def test_waiting_for_a_settled_question_delivers_it(agent: Any, question: Question, ana: Any) -> None:
    lifecycle.decline(question, ana)
    reply = agent.get(f"{agent.question_url(question.pk)}?wait=0").json()
    assert reply["status"] == "declined"
    assert reply["delivered_at"] is not None


def test_repeated_waits_give_the_same_answer(agent: Any, question: Question, ana: Any) -> None:
    lifecycle.answer(question, [SQLITE], via=Answer.Via.WEB, user=ana)
    first, second = (agent.get(f"{agent.question_url(question.pk)}?wait=0").json() for _ in range(2))
    assert first == second


@pytest.mark.parametrize("seconds", ["0", "-5", "0.0", "nan", ""])
def test_any_number_of_seconds_is_a_wait(agent: Any, question: Question, seconds: str) -> None:
    assert agent.get(f"{agent.question_url(question.pk)}?wait={seconds}").status_code == 200


@pytest.mark.parametrize("seconds", ["soon", "1,5", "0x10", "1s"])
def test_wait_that_is_no_number_is_refused(
    agent: Any, question: Question, problem: Any, seconds: str
) -> None:
    refused = problem(
        agent.get(f"{agent.question_url(question.pk)}?wait={seconds}"), 422, "invalid_parameter"
    )
    assert refused["errors"] == [{"field": "wait", "message": "must be a number of seconds"}]


# ---- stopping and withdrawing --------------------------------------------------------------------


def test_agent_that_stops_waiting_is_inactive_at_once(agent: Any, question: Question) -> None:
    agent.get(f"{agent.question_url(question.pk)}?wait=0")
    response = agent.delete(agent.wait_url(question.pk))
    assert (response.status_code, response.content) == (204, b"")
    reply = agent.get(agent.question_url(question.pk)).json()
    assert (reply["status"], reply["agent"]["active"]) == ("open", False)


def test_stopping_twice_or_without_waiting_is_fine(agent: Any, question: Question) -> None:
    assert [agent.delete(agent.wait_url(question.pk)).status_code for _ in range(2)] == [204, 204]


def test_withdrawn_question_comes_back(agent: Any, question: Question) -> None:
    response = agent.delete(agent.question_url(question.pk))
    assert response.status_code == 200
    reply = response.json()
    assert (reply["id"], reply["status"], reply["answer"]) == (question.pk, "withdrawn", None)
    assert reply["settled_at"] is not None


def test_settled_question_cannot_be_withdrawn_and_comes_with_the_refusal(
    agent: Any, question: Question, problem: Any, ana: Any
) -> None:
    lifecycle.answer(question, [SQLITE], via=Answer.Via.WEB, user=ana)
    refused = problem(agent.delete(agent.question_url(question.pk)), 409, "question_settled")
    assert refused["question"] == agent.get(agent.question_url(question.pk)).json()
    assert refused["question"]["status"] == "answered"


def test_second_agent_of_the_room_may_read_but_not_withdraw(
    second_agent: Any, question: Question, problem: Any
) -> None:
    assert second_agent.get(second_agent.question_url(question.pk)).status_code == 200
    problem(second_agent.delete(second_agent.question_url(question.pk)), 403, "not_own_question")
    assert Question.objects.get().is_open
