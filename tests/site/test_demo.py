"""The agents of `make demo`: they ask in the room, and thank by name for what people choose."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.sites import ROOT
from tests.harness.timing import eventually

sys.path.insert(0, str(ROOT / "scripts"))

import demo_agents
from demo_agents import AGENTS, DemoAgents

pytestmark = pytest.mark.bridge(rooms=tuple(f"demo-{number}" for number in range(8)))


@pytest.fixture
def demo(bridge: Bridge, agent: Agent) -> Iterator[DemoAgents]:
    keys = {one.name: agent.key for one in AGENTS}
    running = DemoAgents(f"http://127.0.0.1:{bridge.site.port}", agent.room, keys)
    yield running
    running.stop(10)


def said(agent: Agent) -> list[str]:
    reply = agent.call("GET", f"{agent.path}/messages?limit=200")
    return [message["content"] for message in reply.json()["messages"] if message["type"] == "message"]


def first_open(agent: Agent) -> Any:
    return eventually(lambda: [one for one in agent.open_questions() if one["agent"]["active"]])[0]


def test_an_answer_is_thanked_for_by_name_and_choice(bridge: Bridge, agent: Agent, demo: DemoAgents) -> None:
    demo.start()
    question = first_open(agent)
    bridge.person("ana").answer(question, "Fail at once")
    assert eventually(lambda: "Thank you, Ana Costa! I will continue with **Fail at once**." in said(agent))


def test_an_agent_that_is_asked_back_asks_again(
    bridge: Bridge, agent: Agent, demo: DemoAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_agents, "PAUSE_SECONDS", (0, 0))
    demo.start()
    question = first_open(agent)
    bridge.person("ana").ask_back(question, "How long does it take?")
    again = eventually(
        lambda: [one for one in agent.open_questions() if one["questions"] == question["questions"]]
    )
    assert "You asked: “How long does it take?”" in again[0]["context"]["text"]


def test_agents_that_stop_wait_no_longer(agent: Agent, demo: DemoAgents) -> None:
    demo.start()
    question = first_open(agent)
    demo.stop(10)
    reply = agent.call("GET", f"/api/v1/questions/{question['id']}")
    assert reply.json()["agent"]["active"] is False


@pytest.mark.parametrize("demo_agent", AGENTS, ids=lambda one: one.name)
def test_the_site_takes_every_question(agent: Agent, demo_agent: Any) -> None:
    for step in demo_agent.steps:
        assert agent.call("POST", f"{agent.path}/questions", step.ask).status == 201
