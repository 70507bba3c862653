"""Pytest plugin: the `bridge` that a test runs against, by its folder or by the mark `bridge`.

A mark on a module or class replaces what its folder has:
`pytestmark = pytest.mark.bridge(kinds=("scaled",), rooms=("ops",), scope="module")`.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import cache
from typing import Literal

import pytest

from tests.harness.agents import Agent
from tests.harness.bridges import OPEN_ROOMS, PEOPLE, Bridge, running_bridge
from tests.harness.people import Person

# Embedded, and scaled out with agents and people on two processes.
BOTH = ("embedded", "scaled")


@dataclass(frozen=True)
class Options:
    """Which bridges a test runs against, and with whom it shares them."""

    # One run of the test for each.
    kinds: tuple[str, ...] = ("embedded",)
    # The open rooms: each test takes one of its own.
    rooms: tuple[str, ...] = tuple(OPEN_ROOMS)
    # Shared by all tests of the folder, by those of the module, or not at all.
    scope: Literal["folder", "module", "function"] = "module"


def numbered(count: int, width: int = 2) -> tuple[str, ...]:
    """The names of so many rooms."""
    return tuple(f"room-{number:0{width}}" for number in range(count))


FOLDERS = {
    "agents": Options(scope="folder"),
    "browser": Options(rooms=numbered(300, width=3), scope="folder"),
    "client": Options(rooms=numbered(500, width=3), scope="folder"),
    "faults": Options(BOTH, rooms=numbered(40)),
    "live": Options(BOTH),
    "security": Options(rooms=numbered(24), scope="folder"),
}


@dataclass(frozen=True)
class Choice:
    """One bridge: equal choices share it."""

    owner: str
    kind: str
    options: Options


# The fixture is made anew for another object, not for an equal one.
choice_of = cache(Choice)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "bridge(kinds, rooms, scope): the bridge of these tests; see Options")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Choose the bridges of a test; only a test with several has their kind in its name."""
    if "bridge" not in metafunc.fixturenames:
        return
    folder = metafunc.definition.path.parent
    mark = metafunc.definition.get_closest_marker("bridge")
    if mark:
        options = Options(**mark.kwargs)
    elif folder.name in FOLDERS:
        options = FOLDERS[folder.name]
    else:
        return  # a fixture of the test's own
    node = metafunc.definition.nodeid
    owner = {"folder": str(folder), "module": node.partition("::")[0], "function": node}[options.scope]
    choices = [choice_of(owner, kind, options) for kind in options.kinds]
    ids = options.kinds if len(options.kinds) > 1 else [pytest.HIDDEN_PARAM]
    metafunc.parametrize("bridge", choices, ids=ids, indirect=True, scope="module")


def start(choice: Choice, tmp_path_factory: pytest.TempPathFactory) -> AbstractContextManager[Bridge]:
    data = tmp_path_factory.mktemp(choice.kind) / "data"
    return running_bridge(choice.kind, data, list(choice.options.rooms))


class FolderBridges:
    """The bridges that folders share, each started when its first test needs it."""

    def __init__(self, tmp_path_factory: pytest.TempPathFactory, stack: ExitStack) -> None:
        self.tmp_path_factory, self.stack = tmp_path_factory, stack
        self.running: dict[Choice, Bridge] = {}

    def get(self, choice: Choice) -> Bridge:
        if choice not in self.running:
            self.running[choice] = self.stack.enter_context(start(choice, self.tmp_path_factory))
        return self.running[choice]


@pytest.fixture(scope="session")
def folder_bridges(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FolderBridges]:
    with ExitStack() as stack:
        yield FolderBridges(tmp_path_factory, stack)


@pytest.fixture(scope="module")
def bridge(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    folder_bridges: FolderBridges,
) -> Iterator[Bridge]:
    """A running bridge with people and rooms."""
    choice: Choice = request.param
    if choice.options.scope == "folder":
        yield folder_bridges.get(choice)
    else:
        with start(choice, tmp_path_factory) as running:
            yield running


@pytest.fixture
def agent(bridge: Bridge) -> Agent:
    """An agent in a room of this test's own."""
    return bridge.agent()


@pytest.fixture
def people(bridge: Bridge) -> list[Person]:
    """One signed-in person for each account."""
    return [bridge.person(username) for username in PEOPLE]
