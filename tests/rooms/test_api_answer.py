"""POST /api/v1/questions/{id}/answer: the agent reports an answer given elsewhere."""

from collections.abc import Callable
from typing import Any

import pytest

from rooms import lifecycle
from rooms.models import Answer, Question

DATABASE = "Which database should we use?"


@pytest.mark.parametrize(
    "answers",
    [
        {DATABASE: "SQLite"},
        {DATABASE: ["SQLite"]},
        [{"question": DATABASE, "selectedOptions": ["SQLite"]}],
    ],
    ids=["label", "labels", "choices"],
)
def test_reported_answer_settles_the_question(agent: Any, question: Question, answers: object) -> None:
    response = agent.post(agent.answer_url(question.pk), {"answers": answers, "via": "terminal"})
    assert response.status_code == 200
    reply = response.json()
    assert reply["status"] == "answered"
    assert (reply["answer"]["via"], reply["answer"]["by"]) == ("terminal", None)
    assert reply["answer"]["answers"][0]["selectedOptions"] == ["SQLite"]


def test_answer_comes_from_the_terminal_unless_told_otherwise(agent: Any, question: Question) -> None:
    reply = agent.post(agent.answer_url(question.pk), {"answers": {DATABASE: "SQLite"}}).json()
    assert reply["answer"]["via"] == "terminal"


def test_answer_through_the_api_names_the_person_and_the_key(chat_bot: Any, question: Question) -> None:
    report = {"answers": {DATABASE: "SQLite"}, "via": "api", "by": {"username": "ana"}}
    answer = chat_bot.post(chat_bot.answer_url(question.pk), report).json()["answer"]
    assert (answer["via"], answer["through"]) == ("api", "Chat bot")
    assert answer["by"] == {"username": "ana", "name": "Ana Costa"}


def test_body_cannot_name_the_person_who_answered(agent: Any, question: Question, ana: Any) -> None:
    forged = {"answers": {DATABASE: "SQLite"}, "by": {"username": "ana"}, "user": ana.pk, "username": "ana"}
    assert agent.post(agent.answer_url(question.pk), forged).json()["answer"]["by"] is None
    assert Answer.objects.get().user is None


def test_own_text_and_notes_are_reported_as_choices(agent: Any, question: Question) -> None:
    choice = {"question": DATABASE, "customInput": "DuckDB", "notes": "for now"}
    (answer,) = agent.post(agent.answer_url(question.pk), {"answers": [choice]}).json()["answer"]["answers"]
    assert (answer["selectedOptions"], answer["customInput"], answer["notes"]) == ([], "DuckDB", "for now")


def test_several_prompts_are_answered_together(agent: Any, ask: Callable[..., Question]) -> None:
    question = ask(
        questions=[
            {"question": "Which?", "options": ["A", "B"]},
            {"question": "Which ones?", "options": ["C", "D"], "multiSelect": True},
        ]
    )
    answers = {"Which ones?": ["D", "C"], "Which?": "A"}
    reply = agent.post(agent.answer_url(question.pk), {"answers": answers}).json()
    assert [answer["selectedOptions"] for answer in reply["answer"]["answers"]] == [["A"], ["C", "D"]]


def test_late_report_is_refused_with_the_question(
    agent: Any, question: Question, problem: Any, ana: Any
) -> None:
    lifecycle.decline(question, ana)
    refused = problem(
        agent.post(agent.answer_url(question.pk), {"answers": {DATABASE: "SQLite"}}), 409, "question_settled"
    )
    assert refused["question"]["status"] == "declined"
    assert refused["question"]["answer"]["by"]["username"] == "ana"


def test_report_after_the_deadline_is_refused(agent: Any, overdue: Question, problem: Any) -> None:
    refused = problem(
        agent.post(agent.answer_url(overdue.pk), {"answers": {DATABASE: "SQLite"}}), 409, "question_settled"
    )
    assert refused["question"]["status"] == "expired"


@pytest.mark.parametrize(
    ("report", "field"),
    [
        ({}, "answers"),
        ([], "body"),
        ({"answers": "SQLite"}, "answers"),
        ({"answers": {}}, f'answers["{DATABASE}"]'),
        ({"answers": {DATABASE: "MySQL"}}, f'answers["{DATABASE}"]'),
        ({"answers": {DATABASE: []}}, f'answers["{DATABASE}"]'),
        ({"answers": {DATABASE: ["SQLite", "PostgreSQL (Recommended)"]}}, f'answers["{DATABASE}"]'),
        ({"answers": {DATABASE: 5}}, "answers[0].selectedOptions[0]"),
        ({"answers": {DATABASE: "\ud800"}}, "answers[0].selectedOptions[0]"),
        ({"answers": [{"question": DATABASE, "customInput": "\x00"}]}, "answers[0].customInput"),
        ({"answers": [{"question": DATABASE, "customInput": "x" * 4_001}]}, "answers[0].customInput"),
        ({"answers": {DATABASE: "SQLite", "Another?": "A"}}, "answers[1].question"),
        ({"answers": {DATABASE: "SQLite"}, "via": "web"}, "via"),
    ],
)
def test_report_that_does_not_fit_is_refused_and_nothing_stored(
    agent: Any, question: Question, problem: Any, report: object, field: str
) -> None:
    refused = problem(agent.post(agent.answer_url(question.pk), report), 422, "invalid_answer")
    assert [error["field"] for error in refused["errors"]] == [field]
    assert Question.objects.get().is_open
    assert not Answer.objects.exists()
