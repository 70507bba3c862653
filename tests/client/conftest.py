"""A running bridge, its people, and the real command of the client as a process."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bridge_client import Client
from tests.client.loopback import Front
from tests.harness.agents import Agent
from tests.harness.bridge_fixture import numbered
from tests.harness.bridges import Bridge, running_bridge
from tests.harness.people import Person
from tests.harness.sites import ROOT
from tests.harness.timing import PATIENCE_SECONDS

# A command ends by itself long before; a test that needs longer has found something.
COMMAND_SECONDS = 60
# The Python that runs the client's commands; `make versions` names each that we support.
CLIENT_PYTHON = os.environ.get("TEST_CLIENT_PYTHON", sys.executable)


@pytest.fixture
def own_bridge(tmp_path: Path) -> Iterator[Bridge]:
    """One that a test may stop and start again."""
    with running_bridge("embedded", tmp_path / "data", list(numbered(5))) as running:
        yield running


@pytest.fixture
def agent(bridge: Bridge) -> Agent:
    """A second view of the room over the API, beside the client."""
    return bridge.agent()


@pytest.fixture
def person(bridge: Bridge) -> Person:
    return bridge.person("ana")


@pytest.fixture
def url(bridge: Bridge) -> str:
    return f"http://127.0.0.1:{bridge.site.port}"


@pytest.fixture
def client(agent: Agent, url: str) -> Client:
    return Client(url, agent.key, agent.room, patience_seconds=10)


@pytest.fixture
def front(bridge: Bridge) -> Iterator[Front]:
    """A loopback server before the bridge that fails on demand."""
    with Front(bridge.site.port) as running:
        yield running


class Command:
    """`ask-bridge` with an environment that knows nothing but the room."""

    def __init__(self, environment: dict[str, str], folder: Path, python: str = CLIENT_PYTHON) -> None:
        self.environment = environment
        self.folder = folder
        self.python = python

    def _options(self, environment: dict[str, str]) -> dict[str, Any]:
        return {"cwd": self.folder, "env": {**self.environment, **environment}}

    def run(self, *arguments: str, stdin: Any = "", **environment: str) -> "subprocess.CompletedProcess[str]":
        """To its end."""
        return subprocess.run(
            [self.python, "-m", "bridge_client", *arguments],
            input=stdin if isinstance(stdin, str) else json.dumps(stdin),
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            **self._options(environment),
        )

    @contextmanager
    def start(
        self, *arguments: str, stdin: Any = "", **environment: str
    ) -> Iterator["subprocess.Popen[str]"]:
        """In the background, gone after the block."""
        process = subprocess.Popen(
            [self.python, "-m", "bridge_client", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **self._options(environment),
        )
        assert process.stdin
        process.stdin.write(stdin if isinstance(stdin, str) else json.dumps(stdin))
        process.stdin.close()
        # communicate() would flush it once more.
        process.stdin = None
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


def ends(process: "subprocess.Popen[str]", seconds: float = PATIENCE_SECONDS) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a process that ends by itself."""
    printed, errors = process.communicate(timeout=seconds)
    return process.returncode, printed, errors


@pytest.fixture
def make_command(tmp_path: Path) -> Callable[..., Command]:
    def make(url: str, agent: Agent, python: str = CLIENT_PYTHON) -> Command:
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "PYTHONWARNINGS": "error",
            "ASK_BRIDGE_URL": url,
            "ASK_BRIDGE_KEY": agent.key,
            "ASK_BRIDGE_ROOM": agent.room,
        }
        return Command(environment, tmp_path, python)

    return make


@pytest.fixture
def command(make_command: Callable[..., Command], url: str, agent: Agent) -> Command:
    return make_command(url, agent)
