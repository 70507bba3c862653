"""Claude Code's HTTP hook while the server stops: it is told so, and the question stays open."""

from typing import Any

import pytest

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.live.test_claude_code_hook import envelope, path, the_question

pytestmark = pytest.mark.bridge(kinds=("embedded",), rooms=("ops",), scope="function")


def output_at_stop(bridge: Bridge, agent: Agent, query: str) -> Any:
    with agent.background("POST", path(agent, query), envelope()) as hook:
        asked = the_question(agent)
        assert bridge.site.stop()[0] == 0
        output = hook.result()
    agent.site = bridge.start_again()
    assert agent.read(asked["id"])["status"] == "open"
    return output


def test_a_headless_run_is_told_that_the_bridge_stopped(bridge: Bridge, agent: Agent) -> None:
    output = output_at_stop(bridge, agent, "?headless=1")["hookSpecificOutput"]
    assert output["permissionDecision"] == "deny"
    assert output["permissionDecisionReason"].startswith("The bridge was stopped before")


def test_a_person_at_the_terminal_gets_its_dialog(bridge: Bridge, agent: Agent) -> None:
    assert output_at_stop(bridge, agent, "") == {}
