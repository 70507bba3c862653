"""A choice in its undo window reaches no agent, over any connection."""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from bridge_client import Client, settings
from bridge_client.sdk import ask_bridge_can_use_tool
from tests.client.conftest import Command, ends
from tests.client.test_claude import FAKE, ask
from tests.client.test_hook import envelope, hook_output
from tests.client.test_mcp import ASK, connected
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.people import Person
from tests.harness.timing import eventually

WINDOW_SECONDS = 1
CARE = {"undo_seconds": WINDOW_SECONDS}
QUESTION = "Which database?"
# Longer than each of them needs from the click to its end, on a busy machine.
END_SECONDS = 30

# Asks, waits, and returns the answer as the agent gets it.
Adapter = Callable[[], str]


@pytest.fixture
def careful(command: Command) -> Command:
    """The command on a machine where every question has an undo window."""
    command.environment["ASK_BRIDGE_CARE"] = json.dumps(CARE)
    return command


@pytest.fixture
def by_command_line(careful: Command) -> Adapter:
    def ask() -> str:
        with careful.start("ask", QUESTION, "--option", "PostgreSQL", "--option", "SQLite") as process:
            return ends(process, END_SECONDS)[1].strip()

    return ask


@pytest.fixture
def by_hook(careful: Command) -> Adapter:
    def ask() -> str:
        with careful.start("hook", stdin=envelope()) as process:
            return str(hook_output(ends(process, END_SECONDS)[1])["updatedInput"]["answers"][QUESTION])

    return ask


@pytest.fixture
def by_permission_hook(careful: Command) -> Adapter:
    def ask() -> str:
        with careful.start("hook", stdin=envelope("PermissionRequest")) as process:
            decision = hook_output(ends(process, END_SECONDS)[1])["decision"]
        return str(decision["updatedInput"]["answers"][QUESTION])

    return ask


@pytest.fixture
def by_http_hook(bridge: Bridge, agent: Agent) -> Adapter:
    """Nothing is configured on the agent's machine: the care is a setting of the room."""
    bridge.set_care(agent, CARE)

    def ask() -> str:
        path = f"{agent.path}/hooks/claude-code?timeout=60"
        with agent.background("POST", path, envelope()) as hook:
            output = hook.result(END_SECONDS)["hookSpecificOutput"]
        return str(output["updatedInput"]["answers"][QUESTION])

    return ask


@pytest.fixture
def by_sdk(careful: Command) -> Adapter:
    sdk = pytest.importorskip("claude_agent_sdk")
    client = Client.from_settings(settings.load(environ=careful.environment))
    callback = ask_bridge_can_use_tool(client)

    def ask() -> str:
        context = sdk.ToolPermissionContext(tool_use_id="toolu_1")
        result: Any = asyncio.run(callback("AskUserQuestion", {"questions": ASK["questions"]}, context))
        return str(result.updated_input["answers"][QUESTION])

    return ask


@pytest.fixture
def by_mcp(careful: Command) -> Adapter:
    async def call() -> Any:
        async with connected(careful) as session:
            return await session.call_tool("ask_user_question", ASK)

    return lambda: str(asyncio.run(call()).structured_content["answers"][0]["selectedOptions"][0])


@pytest.fixture
def by_stream_json(careful: Command) -> Adapter:
    claude = careful.folder / "claude"
    claude.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} "$@"\n')
    claude.chmod(0o755)
    careful.environment |= {
        "FAKE_CALLS": json.dumps([ask(QUESTION)]),
        "FAKE_LOG": str(careful.folder / "log"),
    }

    def run() -> str:
        with careful.start("claude", "--claude", str(claude), "--", "-p", "Go ahead.") as process:
            messages = [json.loads(line) for line in ends(process, END_SECONDS)[1].splitlines()]
        [got] = [each["message"]["content"][0]["got"] for each in messages if each["type"] == "user"]
        return str(got["updatedInput"]["answers"][QUESTION])

    return run


@pytest.mark.parametrize(
    "adapter",
    [
        "by_command_line",
        "by_hook",
        "by_permission_hook",
        "by_http_hook",
        "by_sdk",
        "by_mcp",
        "by_stream_json",
    ],
)
def test_no_agent_gets_a_choice_before_it_is_final(
    request: pytest.FixtureRequest, adapter: str, agent: Agent, person: Person
) -> None:
    asking: Adapter = request.getfixturevalue(adapter)
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(asking)
        (question,) = eventually(agent.open_questions)
        eventually(lambda: agent.read(question["id"])["agent"]["active"])
        clicked = time.monotonic()
        person.answer(question, "SQLite")
        assert answer.result(END_SECONDS) == "SQLite"
    assert time.monotonic() - clicked >= WINDOW_SECONDS
