"""`ask-bridge mcp`: the bridge as an MCP server."""

from __future__ import annotations

import argparse
from importlib import import_module

from bridge_client.commands import flags
from bridge_client.errors import SettingsError

EPILOG = """Needs the package `mcp`: pip install 'ask-bridge[mcp]'. Heeds MCP_TOOL_TIMEOUT (milliseconds).

examples:
  claude mcp add ask-bridge -- ask-bridge mcp --room ops
  claude -p "Set up the project" --permission-prompt-tool mcp__ask-bridge__approve
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    flags.add_connection(parser)
    flags.add_own(parser, "bridge_client.mcp.server")


def run(args: argparse.Namespace) -> int:
    settings = flags.load_settings(args)
    try:
        server = import_module("bridge_client.mcp.server")
        return int(server.main(args, settings))
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "bridge_client.mcp.server"):
            raise
        raise SettingsError("This needs the package `mcp`: pip install 'ask-bridge[mcp]'") from None
