"""`ask-bridge claude`: the real Claude Code as a child, whose questions the room answers."""

from __future__ import annotations

import argparse
import os
import stat
import sys
import threading

from bridge_client.claude_code import command as claude_command
from bridge_client.claude_code.child import StreamChild
from bridge_client.claude_code.envelopes import AGENT
from bridge_client.claude_code.relay import Relay, RelayOptions
from bridge_client.client import Client
from bridge_client.commands import flags
from bridge_client.commands.signals import Stopped
from bridge_client.errors import SettingsError
from bridge_client.settings import Settings
from bridge_client.transport.waiting import GOODBYE_SECONDS

# For a child that was told to stop: it writes its session down; whatever takes longer hangs.
LAST_SECONDS = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Run Claude Code in stream-json mode and answer its questions from the room. The prompt comes right\n"
        "after -p, or from stdin: stream-json messages, or lines of text. What Claude says goes to stdout."
    )
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
        help="what Claude is told when it wants permission for any other tool (deny); `forward` hands its "
        "request on to stdout for whoever started us to answer on stdin. What Claude's own settings or "
        "--allowedTools permit is not asked for",
    )
    parser.add_argument("--agent", default=AGENT, help=f"the name on the card ({AGENT})")
    parser.add_argument(
        "--legacy-tool-result",
        action="store_true",
        help="for old clients, which ask without a request: answer with a tool_result",
    )


def main(args: argparse.Namespace, settings: Settings) -> int:
    command = claude_command.build(args.claude, args.arguments)
    if not command.prompt and _nothing_to_read():
        raise SettingsError("Claude has nothing to do: give a prompt right after -p, or on stdin")
    options = RelayOptions(args.timeout, args.others, args.agent, args.legacy_tool_result)
    client = Client.from_settings(settings, on_retry=flags.say_that_we_try_again)
    child = StreamChild(command.arguments)
    relay = Relay(child, client, sys.stdout.buffer, options)
    try:
        relay.start(command.prompt, _input_descriptor(command.prompt))
        relay.wait()
        code = child.wait()
    except Stopped as stopped:
        child.process.send_signal(stopped.exit_code - 128)
        relay.end(GOODBYE_SECONDS)
        code = _see_off(child, relay)
    relay.end(GOODBYE_SECONDS)
    if relay.is_output_closed:
        raise BrokenPipeError
    return code


def _see_off(child: StreamChild, relay: Relay) -> int:
    """Let the child say its last, but not for ever; its exit code."""
    last_resort = threading.Timer(LAST_SECONDS, child.process.kill)
    last_resort.daemon = True
    last_resort.start()
    relay.wait()
    code = child.wait()
    last_resort.cancel()
    return code


def _nothing_to_read() -> bool:
    """No stdin, or one that ends before it begins, as /dev/null does."""
    try:
        status = os.fstat(sys.stdin.fileno())
    except (AttributeError, OSError, ValueError):
        return True
    return stat.S_ISCHR(status.st_mode) and not os.isatty(sys.stdin.fileno())


def _input_descriptor(prompt: str) -> int | None:
    """Our stdin, unless there is none, or it is the terminal of somebody who has given a prompt already."""
    try:
        descriptor = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):
        return None
    if os.isatty(descriptor):
        if prompt:
            return None
        print("ask-bridge: no prompt after -p; type what Claude should do, then Ctrl-D", file=sys.stderr)
    return descriptor
