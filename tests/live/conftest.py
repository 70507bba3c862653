"""Fixtures of these tests: agents and people of the bridge."""

from collections.abc import Callable

import pytest

from tests.harness.agents import Agent
from tests.harness.bridges import MEMBER, Bridge
from tests.harness.people import Person, Visitor


@pytest.fixture
def stranger(bridge: Bridge) -> Agent:
    """An agent of another room."""
    return bridge.agent()


@pytest.fixture
def private_agent(bridge: Bridge) -> Agent:
    """An agent in a room for members only."""
    return bridge.agent(is_open=False)


@pytest.fixture
def person(bridge: Bridge, agent: Agent) -> Person:
    ana = bridge.person("ana")
    ana.room = agent.room
    return ana


@pytest.fixture
def member(bridge: Bridge) -> Person:
    """The one member of every private room."""
    return bridge.person(MEMBER)


@pytest.fixture
def make_person(bridge: Bridge) -> Callable[[], Person]:
    return bridge.new_person


@pytest.fixture
def visitor(bridge: Bridge) -> Visitor:
    return Visitor(bridge.site)
