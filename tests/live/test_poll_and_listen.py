"""Polls and event streams count as waiting for the open questions of their key."""

import json
from typing import Any

import pytest

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.sites import run_manage
from tests.harness.timing import eventually


@pytest.fixture
def colleague(bridge: Bridge, agent: Agent) -> Agent:
    """Another agent in the same room, with a key of its own."""
    done = run_manage(bridge.environment, "createkey", agent.room, "--label", "colleague")
    assert done.returncode == 0, done.stderr
    return Agent(agent.site, agent.room, done.stdout.split()[-1])


def is_active(agent: Agent, question: dict[str, Any]) -> bool:
    return bool(agent.read(question["id"])["agent"]["active"])


def test_a_held_poll_waits_for_the_questions_of_its_key(agent: Agent, person) -> None:
    question = agent.ask()
    with agent.background("GET", f"{agent.path}/messages?after={question['id']}&wait=50") as poll:
        eventually(lambda: is_active(agent, question))
        person.answer(question, "SQLite")
        (response,) = poll.result(timeout=10)["messages"]
    assert json.loads(response["content"])["questionMessageId"] == question["id"]
    eventually(lambda: agent.read(question["id"])["delivered_at"])


def test_an_agent_between_two_polls_is_waiting(agent: Agent) -> None:
    question = agent.ask()
    path = f"{agent.path}/messages?after={question['id']}&wait=0.1"
    assert agent.call("GET", path).json()["messages"] == []
    assert is_active(agent, question)
    # It does not come back: the sweep tells the pages.
    eventually(lambda: not is_active(agent, question), seconds=30)


def test_an_agent_that_hangs_up_its_poll_is_gone_at_once(agent: Agent) -> None:
    question = agent.ask()
    with agent.background("GET", f"{agent.path}/messages?after={question['id']}&wait=50") as poll:
        eventually(lambda: is_active(agent, question))
        poll.hang_up()
        eventually(lambda: not is_active(agent, question), seconds=10)


def test_a_held_poll_does_not_wait_for_questions_of_another_key(agent: Agent, colleague: Agent) -> None:
    question, others = agent.ask(), colleague.ask()
    with agent.background("GET", f"{agent.path}/messages?after={others['id']}&wait=50"):
        eventually(lambda: is_active(agent, question))
        assert not is_active(agent, others)


def test_an_event_stream_waits_for_what_its_key_asks_later(agent: Agent, person) -> None:
    with agent.events() as events:
        question = agent.ask()
        assert events.next()["id"] == question["id"]
        eventually(lambda: is_active(agent, question))
        person.answer(question, "SQLite")
        assert events.next()["type"] == "AskUserQuestionResponse"
        eventually(lambda: agent.read(question["id"])["delivered_at"])


def test_an_event_stream_of_another_key_delivers_nothing(agent: Agent, colleague: Agent, person) -> None:
    with colleague.events() as events:
        question = agent.ask()
        assert events.next()["id"] == question["id"]
        person.answer(question, "SQLite")
        assert events.next()["type"] == "AskUserQuestionResponse"
        # What comes next in the stream is read after the delivery would have been noted.
        own = colleague.ask()
        assert events.next()["id"] == own["id"]
    assert agent.read(question["id"])["delivered_at"] is None


def test_an_event_stream_that_ends_leaves_its_questions_unattended(agent: Agent) -> None:
    question = agent.ask()
    with agent.events():
        eventually(lambda: is_active(agent, question))
    eventually(lambda: not is_active(agent, question), seconds=10)
