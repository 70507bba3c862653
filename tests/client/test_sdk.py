"""`ask_bridge_can_use_tool`: the callback for the Claude Agent SDK, in a real loop against a real room."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from bridge_client import Client
from bridge_client.sdk import ask_bridge_can_use_tool
from tests.client.loopback import Front
from tests.harness.agents import Agent
from tests.harness.people import Person
from tests.harness.timing import eventually

sdk = pytest.importorskip("claude_agent_sdk")

INPUT = {
    "questions": [
        {
            "question": "Which checks?",
            "header": "Checks",
            "multiSelect": True,
            "options": [{"label": "Unit"}, {"label": "Browser"}],
        }
    ]
}


def call(callback: Any, tool: str = "AskUserQuestion", tool_use_id: str = "toolu_1") -> Any:
    return callback(tool, INPUT, sdk.ToolPermissionContext(tool_use_id=tool_use_id))


async def answered(callback: Any, agent: Agent, decide: Callable[[Any], object]) -> Any:
    """The callback's result when a person decides as soon as it waits."""

    def decide_when_asked() -> None:
        (question,) = eventually(agent.open_questions)
        decide(question)

    result, _ = await asyncio.gather(call(callback), asyncio.to_thread(decide_when_asked))
    return result


def test_an_answer_is_allowed_with_the_questions_and_answers(
    client: Client, agent: Agent, person: Person
) -> None:
    callback = ask_bridge_can_use_tool(client, agent="sdk-bot")

    def tick(question: Any) -> None:
        assert question["agent"]["name"] == "sdk-bot"
        person.submit(question, ("choice-0", "0"), ("choice-0", "1"), ("notes-0", "Quickly"))

    result = asyncio.run(answered(callback, agent, tick))
    assert isinstance(result, sdk.PermissionResultAllow)
    assert result.updated_input == {
        **INPUT,
        "answers": {"Which checks?": "Unit, Browser"},
        "annotations": {"Which checks?": {"notes": '"Quickly"'}},
    }


def test_a_follow_up_question_is_allowed_with_its_answer(
    client: Client, agent: Agent, person: Person
) -> None:
    follow_up = {"question": "Which colour?", "follow_up": [{"text": "Red"}, {"text": "Blue"}]}

    async def test() -> Any:
        callback = ask_bridge_can_use_tool(client)
        context = sdk.ToolPermissionContext(tool_use_id="toolu_1")
        calling = asyncio.create_task(callback("AskFollowupQuestion", follow_up, context))
        (question,) = await asyncio.to_thread(eventually, agent.open_questions)
        await asyncio.to_thread(person.answer, question, "Blue")
        return await calling

    result = asyncio.run(test())
    assert isinstance(result, sdk.PermissionResultAllow)
    assert result.updated_input == {**follow_up, "answers": {"Which colour?": "Blue"}}


def test_a_skip_is_denied_with_name_and_reason(client: Client, agent: Agent, person: Person) -> None:
    callback = ask_bridge_can_use_tool(client)
    result = asyncio.run(answered(callback, agent, lambda question: person.skip(question, "Ask Ben")))
    assert isinstance(result, sdk.PermissionResultDeny)
    assert result.message == 'Ana Costa chose not to answer: "Ask Ben"'


def test_a_reply_is_denied_with_what_they_ask(client: Client, agent: Agent, person: Person) -> None:
    callback = ask_bridge_can_use_tool(client)
    result = asyncio.run(answered(callback, agent, lambda question: person.ask_back(question, "Since when?")))
    assert isinstance(result, sdk.PermissionResultDeny)
    assert result.message.startswith('Ana Costa asks back instead of choosing: "Since when?". Answer that')


def test_a_timeout_is_denied_and_the_question_is_over(client: Client, agent: Agent) -> None:
    result = asyncio.run(call(ask_bridge_can_use_tool(client, timeout=0.3)))
    assert isinstance(result, sdk.PermissionResultDeny)
    assert "Nobody answered within 0.3 seconds" in result.message
    assert agent.open_questions() == []
    (question,) = agent.questions("expired")
    eventually(lambda: agent.read(question["id"])["delivered_at"])


def test_a_bridge_that_is_down_is_denied_without_an_invented_answer(agent: Agent) -> None:
    client = Client("http://127.0.0.1:9", agent.key, agent.room, patience_seconds=0.5)
    result = asyncio.run(call(ask_bridge_can_use_tool(client)))
    assert isinstance(result, sdk.PermissionResultDeny)
    assert "connection refused" in result.message


def test_an_outage_while_it_waits_changes_nothing(front: Front, agent: Agent, person: Person) -> None:
    callback = ask_bridge_can_use_tool(Client(front.url, agent.key, agent.room))

    def answer_after_the_outage(question: Any) -> None:
        eventually(lambda: front.calls("GET"))
        front.fail_for_a_while()
        person.submit(question, ("choice-0", "0"))

    result = asyncio.run(answered(callback, agent, answer_after_the_outage))
    assert isinstance(result, sdk.PermissionResultAllow)
    assert result.updated_input == {**INPUT, "answers": {"Which checks?": "Unit"}}


def test_a_cancelled_callback_ends_the_wait_at_once(front: Front, agent: Agent) -> None:
    client = Client(front.url, agent.key, agent.room)

    async def cancel_while_waiting() -> None:
        task = asyncio.ensure_future(call(ask_bridge_can_use_tool(client)))

        def is_waiting() -> bool:
            return any(question["agent"]["active"] for question in agent.open_questions())

        await asyncio.to_thread(eventually, is_waiting)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel_while_waiting())
    eventually(lambda: not agent.open_questions()[0]["agent"]["active"], seconds=2)
    assert len(front.calls("DELETE", "/wait")) == 1


def test_other_tools_are_allowed_or_passed_on(client: Client) -> None:
    result = asyncio.run(call(ask_bridge_can_use_tool(client), "Bash"))
    assert isinstance(result, sdk.PermissionResultAllow)
    assert result.updated_input == INPUT

    async def others(tool: str, tool_input: dict[str, Any], context: Any) -> Any:
        return sdk.PermissionResultDeny(message=f"no {tool}")

    result = asyncio.run(call(ask_bridge_can_use_tool(client, others=others), "Bash"))
    assert result.message == "no Bash"


def test_another_room_can_be_named(client: Client) -> None:
    result = asyncio.run(call(ask_bridge_can_use_tool(client, room="no-such-room")))
    assert isinstance(result, sdk.PermissionResultDeny)


@pytest.mark.parametrize(("session_id", "count"), [("session-1", 1), ("", 2)])
def test_a_session_that_survives_a_crash_asks_once(
    client: Client, agent: Agent, session_id: str, count: int
) -> None:
    for _ in range(2):
        asyncio.run(call(ask_bridge_can_use_tool(client, timeout=0.1, session_id=session_id)))
    assert len(agent.questions("expired")) == count


def test_parallel_calls_are_separate_questions(client: Client, agent: Agent) -> None:
    callback = ask_bridge_can_use_tool(client, timeout=0.5)

    async def both() -> None:
        await asyncio.gather(call(callback, tool_use_id="toolu_1"), call(callback, tool_use_id="toolu_2"))

    asyncio.run(both())
    assert len(agent.questions("expired")) == 2
