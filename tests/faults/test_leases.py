"""An agent that ends in any way shows as gone within a minute, and as back after its return."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.proxy import proxy_to
from tests.harness.sites import ROOT
from tests.harness.timing import eventually

MARKED_SECONDS = 60

pytestmark = pytest.mark.bridge()


def command(agent: Agent, port: int) -> "subprocess.Popen[bytes]":
    """The real client in a process of its own, asking and waiting."""
    return subprocess.Popen(
        [sys.executable, "-m", "bridge_client", "ask", "Which?", "--option", "This", "--option", "That"],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "ASK_BRIDGE_URL": f"http://127.0.0.1:{port}",
            "ASK_BRIDGE_ROOM": agent.room,
            "ASK_BRIDGE_KEY": agent.key,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def is_active(agent: Agent) -> bool | None:
    questions = agent.open_questions()
    return questions[0]["agent"]["active"] if questions else None


@pytest.fixture
def waiting(agent: Agent, bridge: Bridge) -> Iterator["subprocess.Popen[bytes]"]:
    process = command(agent, bridge.site.port)
    try:
        eventually(lambda: is_active(agent))
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_killed_agent(agent: Agent, waiting: "subprocess.Popen[bytes]") -> None:
    waiting.kill()
    eventually(lambda: is_active(agent) is False, seconds=2)


def test_agents_that_were_frozen_or_cut_off_without_a_word(
    agent: Agent, waiting: "subprocess.Popen[bytes]", bridge: Bridge
) -> None:
    # Both at once: each takes almost a minute.
    cut_off = bridge.agent()
    with proxy_to(bridge.site.port) as proxy:
        process = command(cut_off, proxy.port)
        try:
            eventually(lambda: is_active(cut_off))
            proxy.freeze()
            waiting.send_signal(signal.SIGSTOP)
            gone_at = time.monotonic()
            for gone in (cut_off, agent):
                left = MARKED_SECONDS - (time.monotonic() - gone_at)
                eventually(lambda gone=gone: is_active(gone) is False, seconds=left)
            print(f"frozen and cut-off agents marked after {time.monotonic() - gone_at:.1f} s")
        finally:
            process.kill()
            process.communicate()
    waiting.send_signal(signal.SIGCONT)
    eventually(lambda: is_active(agent))
    bridge.person().answer(agent.open_questions()[0], "That")
    output, _ = waiting.communicate(timeout=10)
    assert b"That" in output
