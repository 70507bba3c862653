"""Signals: our own stop comes before that of the server, and the server gets each signal once."""

import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.harness.sites import ROOT, START_SECONDS

LOOPS = ["asyncio", "uvloop"]
Run = Callable[[str, str], tuple[list[str], int]]


@pytest.fixture
def run(environment: dict[str, str]) -> Run:
    """The steps of a server with this kind of signal handler and event loop, and its exit code."""

    def start(handler: str, loop: str) -> tuple[list[str], int]:
        done = subprocess.run(
            [sys.executable, "-m", "tests.live.signalled_server", handler, loop],
            cwd=ROOT,
            env=environment | {"DJANGO_SETTINGS_MODULE": "bridge.settings"},
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
        )
        assert not done.stderr
        return done.stdout.split(), done.returncode

    return start


@pytest.mark.parametrize("loop", LOOPS)
def test_a_server_with_a_handler_of_its_own_stops_after_us(run: Run, loop: str) -> None:
    assert run("function", loop) == (["stop", "stopped", "server"], 0)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_server_that_the_event_loop_calls_is_not_called_again_by_us(run: Run, loop: str) -> None:
    steps, exit_code = run("loop", loop)
    assert (sorted(steps), exit_code) == (["server", "stop", "stopped"], 0)


def test_a_process_without_a_handler_ends_after_us(run: Run) -> None:
    assert run("default", "asyncio") == (["stop", "stopped"], -signal.SIGTERM)


def test_a_signal_that_the_process_ignores_stays_ignored(run: Run) -> None:
    assert run("ignored", "asyncio") == ([], 0)
