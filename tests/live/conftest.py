"""Every test here runs twice: embedded, and scaled out with the agent and the people on two processes."""

from collections.abc import Callable, Iterator

import pytest

from tests.actors import Agent, Person, Visitor
from tests.world import MEMBER, PEOPLE, World, world


@pytest.fixture(scope="module", params=["embedded", "scaled"])
def bridge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(request.param, tmp_path_factory.mktemp(request.param) / "data") as running:
        yield running


@pytest.fixture
def agent(bridge: World) -> Agent:
    return bridge.agent()


@pytest.fixture
def stranger(bridge: World) -> Agent:
    """An agent of another room."""
    return bridge.agent()


@pytest.fixture
def private_agent(bridge: World) -> Agent:
    """An agent in a room for members only."""
    return bridge.agent(is_open=False)


@pytest.fixture
def person(bridge: World, agent: Agent) -> Person:
    ana = bridge.person("ana")
    ana.room = agent.room
    return ana


@pytest.fixture
def member(bridge: World) -> Person:
    """The one member of every private room."""
    return bridge.person(MEMBER)


@pytest.fixture
def people(bridge: World) -> list[Person]:
    return [bridge.person(username) for username in PEOPLE]


@pytest.fixture
def make_person(bridge: World) -> Callable[[], Person]:
    return bridge.new_person


@pytest.fixture
def visitor(bridge: World) -> Visitor:
    return Visitor(bridge.site)
