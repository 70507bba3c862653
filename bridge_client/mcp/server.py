"""The MCP server of one room, over stdio."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING, Any

from bridge_client.claude_code.answers import questions_of
from bridge_client.claude_code.decisions import Decision, decide, undecided_because
from bridge_client.claude_code.envelopes import AGENT, TOOLS
from bridge_client.claude_code.permissions import other_tool, permission
from bridge_client.client import Client
from bridge_client.errors import ClientError
from bridge_client.mcp import tools as mcp_tools
from bridge_client.mcp.call import SESSION_VARIABLE, Call, Limits
from bridge_client.mcp.results import Outcome, failed
from bridge_client.settings import Settings
from bridge_client.transport.in_flight import InFlight
from bridge_client.transport.retries import OnRetry
from bridge_client.transport.waiting import END_WAIT_SECONDS
from bridge_client.version import __version__

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.server.context import ServerRequestContext

# The name on the card if the client has none.
UNNAMED_AGENT = "MCP client"
# The bridge's limit for a name.
NAME_LENGTH = 80


class McpServer:
    """Four tools for one room."""

    def __init__(self, settings: Settings, limits: Limits, agent: str, allows_others: bool) -> None:
        self._settings = settings
        self._limits = limits
        self._agent = agent
        self._allows_others = allows_others
        self._in_flight = InFlight()
        # Ids of tool uses are unique within a session only, depending on the model's provider.
        self._session_id = os.environ.get(SESSION_VARIABLE) or f"mcp_{os.urandom(12).hex()}"

    async def serve(self) -> None:
        """Serve until the client closes stdin."""
        from mcp.server.lowlevel import Server
        from mcp.server.stdio import stdio_server

        server: Server[Any] = Server(
            "ask-bridge",
            version=__version__,
            title="Ask Bridge",
            instructions=mcp_tools.INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        try:
            async with stdio_server() as (read_stream, write_stream):
                await server.run(read_stream, write_stream, server.create_initialization_options())
        finally:
            self.end_calls()

    def end_calls(self) -> None:
        """Cancel the calls that still run and end their waits."""
        self._in_flight.end(END_WAIT_SECONDS)

    # ---- tools

    async def _list_tools(
        self, ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        import mcp_types as types

        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in mcp_tools.TOOLS])

    async def _call_tool(
        self, ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        import mcp_types as types
        from mcp.shared.exceptions import MCPError

        tools = {
            mcp_tools.ASK: self._ask,
            mcp_tools.WAIT: self._wait,
            mcp_tools.REMEMBER: self._remember,
            mcp_tools.APPROVE: self._approve,
        }
        if params.name not in tools:
            raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown tool: {params.name}")
        make_client = partial(_make_client, self._settings)
        call = Call(ctx, make_client, self._in_flight, self._session_id, self._limits)
        return await tools[params.name](call, params.arguments or {})

    async def _ask(self, call: Call, arguments: dict[str, Any]) -> types.CallToolResult:
        try:
            question = await call.ask(
                arguments.get("questions"),
                self._name(call),
                call.tool_use_id,
                self._care(arguments.get("care")),
            )
        except ClientError as error:
            return _as_tool_result(failed(error))
        return _as_tool_result(await call.settle(question.id, question.url))

    async def _wait(self, call: Call, arguments: dict[str, Any]) -> types.CallToolResult:
        return _as_tool_result(await call.settle(str(arguments.get("question_id") or "")))

    async def _remember(self, call: Call, arguments: dict[str, Any]) -> types.CallToolResult:
        return _as_tool_result(await call.remember(str(arguments.get("question") or "")))

    async def _approve(self, call: Call, arguments: dict[str, Any]) -> types.CallToolResult:
        tool_name, tool_input = str(arguments.get("tool_name") or ""), arguments.get("input")
        tool_input = tool_input if isinstance(tool_input, dict) else {}
        if tool_name not in TOOLS:
            return _as_permission(other_tool(tool_name, tool_input, is_allowed=self._allows_others))
        tool_use_id = str(arguments.get("tool_use_id") or call.tool_use_id)
        try:
            name = self._agent or AGENT
            question = await call.ask(questions_of(tool_input), name, tool_use_id, ends_with_call=True)
            result = await call.wait_for_end(question)
        except ClientError as error:
            return _as_permission(undecided_because(error))
        return _as_permission(decide(result, tool_input, round(call.wait_seconds)))

    def _care(self, asked: Any) -> Any:
        """The configured care plus what the model asks for: never less than configured."""
        if not isinstance(asked, dict):
            return asked  # none, or a value that the bridge refuses with a message for the model
        own = self._settings.care or {}
        # If particular people are asked first, the model may not set when others can decide.
        kept = {"escalate_seconds": None} if own.get("first") else {}
        return {**asked, **kept, **own}

    def _name(self, call: Call) -> str:
        info = call.client_info
        return (self._agent or (info and (info.title or info.name)) or UNNAMED_AGENT)[:NAME_LENGTH]


def _make_client(settings: Settings, patience_seconds: float, on_retry: OnRetry) -> Client:
    return Client.from_settings(settings, patience_seconds=patience_seconds, on_retry=on_retry)


def _as_tool_result(outcome: Outcome) -> types.CallToolResult:
    """The text, the data, and the data as JSON text for clients that pass only texts."""
    import mcp_types as types

    texts = [outcome.text]
    if not outcome.is_error:  # the text of an error is complete
        texts.append(json.dumps(outcome.data, ensure_ascii=False))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text) for text in texts],
        structured_content=outcome.data,
        is_error=outcome.is_error,
    )


def _as_permission(decision: Decision) -> types.CallToolResult:
    """As Claude Code expects it: one text with JSON."""
    import mcp_types as types

    text = json.dumps(permission(decision), ensure_ascii=False)
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])
