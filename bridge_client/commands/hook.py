"""`ask-bridge hook`: what Claude Code runs around AskUserQuestion and AskFollowupQuestion."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from bridge_client.claude_code import envelopes, hook
from bridge_client.claude_code.answers import Decision, Undecided, undecided_because
from bridge_client.cli import exit_code_of
from bridge_client.client import Client
from bridge_client.commands import exits, flags, terminal_text
from bridge_client.commands.signals import Stopped
from bridge_client.errors import ClientError, ProblemError

# Set by Claude Code for its hooks: 0 in `-p`, stream-json and the SDK, 1 where somebody sits at the terminal.
ATTENDED = "CLAUDE_CODE_SESSION_ATTENDED"

EPILOG = """Reads a PreToolUse, PermissionRequest or PostToolUse envelope from stdin. If nobody answers or the
bridge is down it prints nothing, and Claude Code shows its own dialog. The same for an envelope that it does
not understand, such as one of another agent: a line on stderr, and exit code 0. `ask-bridge install
claude-code` sets it up.

example, in ~/.claude/settings.json:
  {"hooks": {"PreToolUse": [{"matcher": "AskUserQuestion|AskFollowupQuestion",
    "hooks": [{"type": "command", "command": "ask-bridge hook --timeout 300", "timeout": 315}]}]}}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument(
        "--timeout",
        type=flags.seconds,
        default=hook.TIMEOUT_SECONDS,
        metavar="SECONDS",
        help=f"how long to wait for an answer ({hook.TIMEOUT_SECONDS:g})",
    )
    parser.add_argument(
        "--headless",
        action="store_true",
        default=os.environ.get(ATTENDED) == "0",
        help="nobody is at a terminal: without an answer, tell the model instead of opening a dialog "
        "(Claude Code tells it by itself)",
    )
    parser.add_argument("--agent", default=envelopes.AGENT, help=f"the name on the card ({envelopes.AGENT})")
    flags.add_connection(parser)


def run(args: argparse.Namespace) -> int:
    envelope = _read_envelope()
    if problem := envelopes.what_is_not_understood(envelope):
        terminal_text.remark(f"the hook does not understand this envelope: {problem}")
        return exits.OK
    if not envelopes.is_for_us(envelope):
        return exits.OK
    try:
        settings = flags.load_settings(args)
        client = Client.from_settings(settings, patience_seconds=hook.patience_seconds(envelope))
        if envelopes.is_report(envelope):
            _print_output(hook.report_the_terminal(envelope, client))
            return exits.OK
        decision = hook.ask_the_room(envelope, client, args.timeout, args.agent, is_headless=args.headless)
    except ClientError as error:
        _print_decision(envelope, undecided_because(error), args.headless)
        # A bridge that is away will be back, and a question that it refuses is one for the agent's own
        # dialog. A wrong setup is an error, which the terminal shows.
        is_away = exit_code_of(error) == exits.UNREACHABLE
        return exits.OK if is_away or _is_refused(error) or args.headless else exits.FAILED
    except Stopped:
        return exits.OK  # the goodbye is said; nobody reads what a stopped hook prints
    _print_decision(envelope, decision, args.headless)
    return exits.OK


def _is_refused(error: ClientError) -> bool:
    """Whether the bridge does not take what was asked or reported."""
    return isinstance(error, ProblemError) and error.status in (400, 413, 422)


def _read_envelope() -> Any:
    try:
        return json.loads(sys.stdin.buffer.read())
    except (ValueError, RecursionError):
        return None


def _print_decision(envelope: Any, decision: Decision, is_headless: bool) -> None:
    if isinstance(decision, Undecided):
        terminal_text.remark(decision.reason)
    if not envelopes.is_report(envelope):
        _print_output(envelopes.output(envelope["hook_event_name"], decision, is_headless))


def _print_output(output: dict[str, Any] | None) -> None:
    if output is not None:
        sys.stdout.write(json.dumps(output) + os.linesep)
        sys.stdout.flush()
