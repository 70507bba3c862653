"""`ask-bridge send-ask-question`: asks without waiting."""

import json
from typing import Any

import pytest

from tests.client.conftest import Command
from tests.harness.agents import Agent
from tests.harness.people import Person

PAYLOAD = '{"question": "Which approach?", "options": [{"label": "A"}, {"label": "B"}]}'


def lines(printed: str) -> list[Any]:
    return [json.loads(line) for line in printed.splitlines()]


def test_a_question_is_sent_and_its_response_polled(command: Command, agent: Agent, person: Person) -> None:
    done = command.run(
        "send-ask-question", agent.room, "my-agent", PAYLOAD, "--color", "#818cf8", ASK_BRIDGE_ROOM=""
    )
    (question,) = agent.open_questions()
    assert (done.returncode, done.stdout) == (0, f"Question sent: {question['id']}\n")
    assert question["agent"]["name"] == "my-agent"
    assert question["agent"]["color"] == "#818cf8"
    person.answer(question, "B")
    (response,) = lines(command.run("poll", agent.room, "--after", question["id"], "--wait").stdout)
    assert response["type"] == "AskUserQuestionResponse"
    content = json.loads(response["content"])
    assert content["questionMessageId"] == question["id"]
    assert content["selectedOptions"] == ["B"]


def test_a_poll_for_a_question_ends_when_it_was_withdrawn(command: Command, agent: Agent) -> None:
    question = agent.ask()
    assert command.run("withdraw", question["id"]).returncode == 0
    (response,) = lines(command.run("poll", "--after", question["id"], "--wait").stdout)
    content = json.loads(response["content"])
    assert (response["type"], content["questionMessageId"]) == ("AskUserQuestionResponse", question["id"])
    assert (content["status"], content["selectedOptions"]) == ("withdrawn", [])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], "Usage: ask-bridge send-ask-question <roomId> <sender> '<json>' [--color <color>]"),
        (["room", "me"], "Usage: ask-bridge send-ask-question <roomId> <sender> '<json>' [--color <color>]"),
        (["room", "me", "{"], "Error: payload must be valid JSON"),
        (["room", "me", "[]"], "Error: payload must have 'question' and 'options' fields"),
        (["room", "me", "null"], "Error: payload must have 'question' and 'options' fields"),
        (["room", "me", '{"question": "A?"}'], "Error: payload must have 'question' and 'options' fields"),
        (
            ["room", "me", '{"question": "", "options": []}'],
            "Error: payload must have 'question' and 'options' fields",
        ),
        (
            ["room", "me", '{"question": "A?", "options": "B"}'],
            "Error: payload must have 'question' and 'options' fields",
        ),
    ],
)
def test_an_invalid_payload_is_refused(command: Command, arguments: list[str], error: str) -> None:
    done = command.run("send-ask-question", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{error}\n")


def test_errors_of_the_bridge_are_reported_as_well(command: Command, agent: Agent) -> None:
    done = command.run("send-ask-question", agent.room, "me", '{"question": "A?", "options": ["B"]}')
    assert done.returncode == 2
    assert "needs 2 to 4 options" in done.stderr
