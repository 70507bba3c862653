"""`ask-bridge mcp`: the bridge as an MCP server over stdio."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys

from bridge_client.commands import exits, flags
from bridge_client.commands.signals import STOP_SIGNALS
from bridge_client.errors import SettingsError
from bridge_client.mcp.call import Limits
from bridge_client.mcp.server import McpServer

# The oldest Python that the package `mcp` supports.
OLDEST_PYTHON = (3, 10)

EPILOG = """Needs the package `mcp`: pip install 'ask-bridge[mcp]'. Reads MCP_TOOL_TIMEOUT (milliseconds).

examples:
  claude mcp add ask-bridge -- ask-bridge mcp --room ops
  claude -p "Set up the project" --permission-prompt-tool mcp__ask-bridge__approve
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    flags.add_connection(parser)
    parser.add_argument(
        "--timeout",
        type=flags.seconds,
        metavar="SECONDS",
        help="the client's time limit for one call; shortly before it the model is told to call "
        "wait_for_answer (MCP_TOOL_TIMEOUT in milliseconds; else 115 for Claude Code and 60 for any other "
        "client)",
    )
    parser.add_argument(
        "--progress",
        type=flags.seconds,
        default=Limits.progress_seconds,
        metavar="SECONDS",
        help="how often to send progress to a client that asks for it (10)",
    )
    parser.add_argument(
        "--others",
        choices=["allow", "deny"],
        default="deny",
        help="what the tool `approve` replies for any tool but AskUserQuestion (deny: people in the room do "
        "not see what such a tool would do; `allow` lets everything run)",
    )
    parser.add_argument("--agent", default="", help="the name on the card (the client's own name)")


def run(args: argparse.Namespace) -> int:
    settings = flags.load_settings(args)
    _require_mcp()
    limits = Limits(args.timeout, args.progress or Limits.progress_seconds)
    asyncio.run(_serve(McpServer(settings, limits, args.agent, args.others == "allow")))
    return exits.OK


def _require_mcp() -> None:
    if sys.version_info < OLDEST_PYTHON:
        raise SettingsError("The package `mcp` needs Python 3.10 or newer: run `ask-bridge mcp` with one")
    try:
        # `mcp_types` exists since version 2 of `mcp`, whose interface this server uses.
        import mcp.server.lowlevel  # noqa: F401
        import mcp_types  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "mcp_types"):
            raise
        raise SettingsError(
            'This needs the package `mcp`, 2 or newer: pip install "ask-bridge[mcp]"'
        ) from None


async def _serve(server: McpServer) -> None:
    """Serve until the client closes stdin or a signal asks the process to end."""

    def stop(number: int) -> None:
        server.end_calls()
        # Not by an exception: the thread that reads stdin cannot be ended, and Python would wait for it.
        os._exit(128 + number)

    loop = asyncio.get_running_loop()
    for name in STOP_SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            try:
                loop.add_signal_handler(number, stop, number)
            except NotImplementedError:
                break  # Windows, where these signals are not sent
    await server.serve()
