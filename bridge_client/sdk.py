"""The permission callback for the Claude Agent SDK: the room answers the questions."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable
from functools import partial
from typing import Any, Callable

from bridge_client.claude_code.answers import questions_of
from bridge_client.claude_code.context import gather
from bridge_client.claude_code.decisions import Allow, Decision, decide, undecided_because
from bridge_client.claude_code.envelopes import TOOLS
from bridge_client.client import Client
from bridge_client.errors import ClientError
from bridge_client.transport.cancellation import Cancellation

CanUseTool = Callable[[str, dict[str, Any], Any], Awaitable[Any]]


def ask_bridge_can_use_tool(
    client: Client,
    room: str | None = None,
    others: CanUseTool | None = None,
    timeout: float = 300,
    *,
    agent: str = "",
    session_id: str = "",
    cwd: str = "",
) -> CanUseTool:
    """A `can_use_tool` callback that asks the room.

        options = ClaudeAgentOptions(can_use_tool=ask_bridge_can_use_tool(client, room="ops"))

    Any other tool goes to `others`, or is allowed. With a `session_id` that survives a crash, the same tool
    use gets the same question again, and its answer. After `timeout` seconds the question expires, and the
    model gets the message that there is no answer. When the SDK cancels the callback, the wait ends at once.
    """
    client = client.in_room(room) if room else client
    # Ids of tool uses are unique within a session only, depending on the model's provider.
    session_id = session_id or f"sdk_{os.urandom(12).hex()}"
    cwd = cwd or os.getcwd()

    async def can_use_tool(tool_name: str, tool_input: dict[str, Any], context: Any) -> Any:
        from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny

        if tool_name not in TOOLS:
            if others is not None:
                return await others(tool_name, tool_input, context)
            return PermissionResultAllow(updated_input=tool_input)
        decision = await _ask(
            client,
            tool_input,
            timeout,
            agent=agent,
            session_id=session_id,
            tool_use_id=getattr(context, "tool_use_id", None) or "",
            context=gather(cwd),
        )
        if isinstance(decision, Allow):
            return PermissionResultAllow(updated_input=decision.updated_input)
        return PermissionResultDeny(message=decision.message)

    return can_use_tool


async def _ask(client: Client, tool_input: dict[str, Any], timeout: float, **fields: Any) -> Decision:
    """Ask and wait in a thread; cancelling this coroutine ends it at once."""
    cancellation = Cancellation()
    ask = partial(
        client.ask_until,
        {"questions": questions_of(tool_input)},
        timeout,
        cancellation=cancellation,
        **fields,
    )
    try:
        result = await asyncio.get_running_loop().run_in_executor(None, ask)
    except asyncio.CancelledError:
        cancellation.cancel()
        raise
    except ClientError as error:
        return undecided_because(error)
    return decide(result, tool_input, timeout)
