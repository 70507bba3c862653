"""Agents read English, whatever language their HTTP library asks for or the site speaks."""

from typing import Any

import pytest

from rooms.models import Question

TOO_MUCH = "is too long: 4,001 characters, 4,000 are allowed"


@pytest.fixture(params=["asks for German", "site speaks German"])
def german(request: pytest.FixtureRequest, settings: Any) -> dict[str, str]:
    """The headers of a call that pages would answer in German."""
    if request.param == "site speaks German":
        settings.LANGUAGE_CODE = "de"
        return {}
    return {"Accept_Language": "de"}


def test_a_wrong_answer_is_refused_in_english(agent: Any, question: Question, german: dict[str, str]) -> None:
    prompt = question.prompts[0]["question"]
    for choice, message in (
        ({}, "needs an option or a text of your own"),
        ({"selectedOptions": ["SQLite"], "customInput": "x"}, "takes one answer, got 2"),
        ({"customInput": "x" * 4001}, TOO_MUCH),
    ):
        reply = agent.post(
            agent.answer_url(question.pk), {"answers": [{"question": prompt, **choice}]}, **german
        )
        assert reply.status_code == 422
        assert reply.json()["errors"][0]["message"] == message
        assert reply["Content-Language"] == "en"


def test_a_wrong_question_is_refused_in_english(
    agent: Any, body: dict[str, Any], german: dict[str, str]
) -> None:
    wrong = {**body, "default": {body["questions"][0]["question"]: []}}
    reply = agent.post(agent.questions_url, wrong, **german)
    assert reply.json()["errors"][0]["message"] == "needs an option or a text of your own"
    body["questions"][0]["question"] = "x" * 2001
    reply = agent.post(agent.questions_url, body, **german)
    assert reply.json()["errors"][0]["message"] == "is too long: 2,001 characters, 2,000 are allowed"
