"""Limits on open connections per agent and person: refused with Retry-After."""

from contextlib import ExitStack

import pytest

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.timing import eventually

POPULAR = 100  # WAITS_PER_QUESTION
LISTENERS = 100  # LISTENERS_PER_KEY


pytestmark = pytest.mark.bridge(rooms=("room-00", "room-01"))


def test_the_101st_wait_for_a_question_is_told_to_come_back(bridge: Bridge) -> None:
    agent: Agent = bridge.agent()
    question = agent.ask()
    with ExitStack() as stack:
        waits = [stack.enter_context(agent.waiting(question["id"], 30)) for _ in range(POPULAR + 1)]
        # The one that the site reads last, in an unknown order.
        (refused,) = eventually(lambda: [wait for wait in waits if wait.has_begun])
        assert refused.reply().status == 429
        assert refused.result()["code"] == "too_many_requests"
        assert refused.reply().headers["Retry-After"] == "10"
        bridge.person().answer(question, "SQLite")
        waits.remove(refused)
        assert [wait.result()["status"] for wait in waits] == ["answered"] * POPULAR
    assert agent.wait(question["id"], 30)["status"] == "answered"


def test_the_101st_listener_of_a_key_is_told_to_come_back(bridge: Bridge) -> None:
    agent: Agent = bridge.agent()
    newest = agent.send("hello")["id"]
    listening = f"{agent.path}/messages?after={newest}&wait=50"
    with agent.events() as events, ExitStack() as stack:
        waits = [stack.enter_context(agent.background("GET", listening)) for _ in range(LISTENERS)]
        # A stream and waits are counted together; which comes last is not known.
        (refused,) = eventually(lambda: [wait for wait in waits if wait.has_begun])
        assert refused.reply().status == 429
        assert refused.result()["code"] == "too_many_requests"
        assert refused.reply().headers["Retry-After"] == "10"
        assert agent.call("GET", f"{agent.path}/events").status == 429
        # Neither a wait for an answer nor a plain read is a listener.
        question = agent.ask()
        assert agent.call("GET", f"{agent.path}/messages").status == 200
        assert agent.wait(question["id"], 0)["status"] == "open"
        waits.remove(refused)
        told = [wait.result()["messages"] for wait in waits]
        assert [len(messages) for messages in told] == [1] * (LISTENERS - 1)
        assert events.next()["id"] == question["id"]
    with agent.events(last_event_id=newest) as events:
        assert events.next()["id"] == question["id"]
