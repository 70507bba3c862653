"""`ask-bridge install claude-code`: adds the hooks to Claude Code's settings, after confirmation."""

from __future__ import annotations

import argparse
import os
from typing import Any

from bridge_client import settings
from bridge_client.claude_code import settings_file
from bridge_client.commands import exits, flags
from bridge_client.commands.confirm import confirm

EPILOG = """Two modes:
  --both       the question is in the terminal and in the room; the first answer counts (default)
  --web-first  the room is asked first; the terminal's dialog appears if no answer comes in time

With --http Claude Code calls the bridge itself and needs nothing installed; it reads the key from
ASK_BRIDGE_KEY. --url, --key and --room given here are stored in ~/.config/ask-bridge/config.json (mode 600).

example:
  ask-bridge install claude-code --user --both
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("client", choices=["claude-code"], help="what to set up")
    add_scope(parser)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--both", dest="mode", action="store_const", const="both", default="both")
    mode.add_argument("--web-first", dest="mode", action="store_const", const="web-first")
    parser.add_argument("--http", action="store_true", help="let Claude Code call the bridge itself")
    parser.add_argument(
        "--timeout",
        type=flags.seconds,
        metavar="SECONDS",
        help="how long to wait for the room (300 with --web-first, 12 hours with --both)",
    )
    flags.add_connection(parser)


def add_scope(parser: argparse.ArgumentParser) -> None:
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument(
        "--user", dest="scope", action="store_const", const="user", default="user", help="all my projects"
    )
    scope.add_argument(
        "--project",
        dest="scope",
        action="store_const",
        const="project",
        help="this project's, for all its users",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(args: argparse.Namespace) -> int:
    settings.check(args.url, args.key, args.room)
    path = settings_file.path_for(args.scope, os.environ)
    before, current = settings_file.read(path)
    changed = settings_file.with_hooks(current, _hooks(args))
    if changed == current:
        _store_connection(args)
        print(f"{path} has these hooks already.")
    elif not confirm(
        path, before, settings_file.as_text(changed, before), args.yes, first=lambda: _store_connection(args)
    ):
        return exits.FAILED
    if args.http and not os.environ.get("ASK_BRIDGE_KEY"):
        print("Claude Code needs ASK_BRIDGE_KEY in its environment: export it in your shell's profile.")
    return exits.OK


def _hooks(args: argparse.Namespace) -> dict[str, dict[str, Any]]:
    timeout_seconds = int(args.timeout or settings_file.TIMEOUT_SECONDS[args.mode])
    events = settings_file.MODES[args.mode]
    if args.http:
        bridge = flags.load_settings(args)
        return {event: settings_file.http_hook(event, timeout_seconds, bridge) for event in events}
    # A project's file names the room; for a user it is stored with url and key.
    room = args.room if args.scope == "project" else ""
    is_shared = args.scope == "project"
    return {
        event: settings_file.command_hook(event, timeout_seconds, room or "", is_shared=is_shared)
        for event in events
    }


def _store_connection(args: argparse.Namespace) -> None:
    """Store the flags in the config file, because the hooks run without them."""
    given = {name: getattr(args, name) for name in settings.VARIABLES if getattr(args, name)}
    if args.scope == "project":
        given.pop("room", None)
    if given:
        path = args.config or settings.config_path(os.environ)
        settings.store(given, path)
        print(f"Stored {', '.join(given)} in {path}.")
