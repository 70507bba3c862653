"""The command line `ask-bridge`: parses the arguments and runs one of the commands."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from bridge_client.commands import exits, terminal_text
from bridge_client.errors import ClientError
from bridge_client.version import __version__

# Only the module of the command that runs is imported: a hook is a new process each time.
COMMANDS = {
    "ask": ("ask", "ask the room and wait for the answer"),
    "wait": ("wait", "wait for the answer to a question that was asked before"),
    "memory": ("memory", "print what was answered to similar questions before"),
    "withdraw": ("withdraw", "withdraw a question"),
    "send": ("send", "send a message to the room"),
    "poll": ("poll", "print the messages of the room"),
    "listen": ("listen", "print new messages of the room as they arrive"),
    "send-ask-question": ("send_ask_question", "ask without waiting"),
    "hook": ("hook", "answer Claude Code's AskUserQuestion from the room"),
    "install": ("install", "set up Claude Code to use the hook"),
    "uninstall": ("uninstall", "remove the hook from Claude Code"),
    "doctor": ("doctor", "check address, key, room and the connection"),
    "mcp": ("mcp", "serve ask_user_question to any MCP client"),
    "claude": ("claude", "run Claude Code and answer its questions from the room"),
}

EPILOG = f"""{exits.LEGEND}

The bridge, the key and the room come from --url, --key and --room, or from ASK_BRIDGE_URL, ASK_BRIDGE_KEY
and ASK_BRIDGE_ROOM, or from ~/.config/ask-bridge/config.json (mode 600).

example:
  ask-bridge ask "Deploy now?" --option Yes --option "No: wait for the morning"
"""


class Parser(argparse.ArgumentParser):
    """Prints what is wrong in one line, and where to read more."""

    def error(self, message: str) -> NoReturn:
        self.exit(exits.INVALID, f"{self.prog}: {message}; see {self.prog} --help\n")


def build_parser(command: str = "") -> argparse.ArgumentParser:
    """A parser that knows all commands, and the arguments of this one."""
    parser = Parser(
        prog="ask-bridge",
        description="Ask the people of a room, and get their answers.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"ask-bridge {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for name, (module, summary) in COMMANDS.items():
        subparser = subparsers.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name == command:
            implementation = import_module(f"bridge_client.commands.{module}")
            implementation.add_arguments(subparser)
            subparser.set_defaults(run=implementation.run)
    return parser


def _escape_unprintable() -> None:
    """An answer can hold any character: one that the terminal's encoding lacks is printed as an escape."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="backslashreplace")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    from bridge_client.commands.signals import Stopped, raise_stopped

    arguments = list(sys.argv[1:] if argv is None else argv)
    command = arguments[0] if arguments else ""
    parser = build_parser(command)
    args = parser.parse_args(arguments)
    if not args.command:
        parser.print_help()
        return exits.INVALID
    raise_stopped()
    _escape_unprintable()
    try:
        return int(args.run(args))
    except Stopped as stopped:
        return stopped.exit_code
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does. Without this Python reports it once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.OK
    except ClientError as error:
        terminal_text.remark(str(error))
        return exits.code_of(error)
