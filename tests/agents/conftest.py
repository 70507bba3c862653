"""One scripted model and one bridge for all tests; every conversation has a client, a home, a script and a
room of its own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.agents.claude import Claude
from tests.agents.scripted_model import Json, ScriptedModel, Turn
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.people import Person


@pytest.fixture
def room(bridge: Bridge) -> Agent:
    """A room of this test's own, and the key that its clients have."""
    return bridge.agent()


@pytest.fixture
def ana(bridge: Bridge) -> Person:
    return bridge.person("ana", bridge.site)


@pytest.fixture(scope="session")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel.running() as running:
        yield running


@pytest.fixture
def claude_with(model: ScriptedModel, tmp_path: Path) -> Iterator[Callable[..., Claude]]:
    """A new client whose model takes these turns: `claude_with(question, "Thanks.", settings=…)`."""
    clients: list[Claude] = []

    def install(*turns: Turn, settings: Json | None = None, **variables: str) -> Claude:
        directory = tmp_path / f"machine-{len(clients)}"
        clients.append(Claude(directory, model.script(*turns), settings, **variables))
        return clients[-1]

    yield install
    for client in clients:
        client.end()
