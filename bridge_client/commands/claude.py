"""`ask-bridge claude`: Claude Code as a child process whose questions the room answers."""

from __future__ import annotations

import argparse
import os
import stat
import sys
import threading

from bridge_client.claude_code import command_line
from bridge_client.claude_code.child import StreamChild
from bridge_client.claude_code.envelopes import AGENT
from bridge_client.claude_code.relay import Relay, RelayOptions
from bridge_client.client import Client
from bridge_client.commands import flags
from bridge_client.commands.signals import Stopped
from bridge_client.errors import SettingsError
from bridge_client.transport.waiting import END_WAIT_SECONDS

# For a child that got a stop signal: it saves its session. One that takes longer hangs and is killed.
EXIT_SECONDS = 10.0

EPILOG = """example:
  ask-bridge claude --room ops -- -p "Set up the project; ask me what you need to know"
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.description = (
        "Run Claude Code in stream-json mode and answer its questions from the room. The prompt comes right\n"
        "after -p, or from stdin: stream-json messages, or lines of text. Claude's output goes to stdout."
    )
    flags.add_connection(parser)
    parser.add_argument("--claude", default="claude", metavar="PATH", help="the program (claude)")
    parser.add_argument(
        "--timeout",
        type=flags.seconds,
        default=RelayOptions.timeout_seconds,
        metavar="SECONDS",
        help=f"how long to wait for an answer ({RelayOptions.timeout_seconds:g})",
    )
    parser.add_argument(
        "--others",
        choices=["allow", "deny", "forward"],
        default=RelayOptions.others,
        help="the reply when Claude asks for permission to use any other tool (deny); `forward` writes the "
        "request to stdout, and the calling program replies on stdin. Claude does not ask for what its own "
        "settings or --allowedTools permit",
    )
    parser.add_argument("--agent", default=AGENT, help=f"the name on the card ({AGENT})")
    parser.add_argument(
        "--legacy-tool-result",
        action="store_true",
        help="for old clients, which ask without a request: answer with a tool_result",
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="-- ARGS", help="for claude itself")


def run(args: argparse.Namespace) -> int:
    # Older Pythons leave the separator in.
    if args.arguments[:1] == ["--"]:
        args.arguments = args.arguments[1:]
    settings = flags.load_settings(args)
    command = command_line.build(args.claude, args.arguments)
    if not command.prompt and _is_stdin_empty():
        raise SettingsError("Claude has nothing to do: give a prompt right after -p, or on stdin")
    options = RelayOptions(args.timeout, args.others, args.agent, args.legacy_tool_result)
    client = Client.from_settings(settings, on_retry=flags.print_retry)
    child = StreamChild(command.arguments)
    relay = Relay(child, client, sys.stdout.buffer, options)
    try:
        relay.start(command.prompt, _input_descriptor(command.prompt))
        relay.wait()
        code = child.wait()
    except Stopped as stopped:
        child.process.send_signal(stopped.exit_code - 128)
        relay.end(END_WAIT_SECONDS)
        code = _wait_for_exit(child, relay)
    relay.end(END_WAIT_SECONDS)
    if relay.is_output_closed:
        raise BrokenPipeError
    return code


def _wait_for_exit(child: StreamChild, relay: Relay) -> int:
    """Forward the child's last output and return its exit code; kill it if it takes too long."""
    kill = threading.Timer(EXIT_SECONDS, child.process.kill)
    kill.daemon = True
    kill.start()
    relay.wait()
    code = child.wait()
    kill.cancel()
    return code


def _is_stdin_empty() -> bool:
    """Whether there is no stdin, or one that ends at once, such as /dev/null."""
    try:
        status = os.fstat(sys.stdin.fileno())
    except (AttributeError, OSError, ValueError):
        return True
    return stat.S_ISCHR(status.st_mode) and not os.isatty(sys.stdin.fileno())


def _input_descriptor(prompt: str) -> int | None:
    """The descriptor of stdin; None without one, or if it is a terminal and the prompt was given."""
    try:
        descriptor = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):
        return None
    if os.isatty(descriptor):
        if prompt:
            return None
        print("ask-bridge: no prompt after -p; type what Claude should do, then Ctrl-D", file=sys.stderr)
    return descriptor
