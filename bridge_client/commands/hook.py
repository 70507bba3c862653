"""`ask-bridge hook`: what Claude Code runs around AskUserQuestion and AskFollowupQuestion."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from bridge_client.claude_code import context, envelopes
from bridge_client.claude_code.decisions import Decision, Undecided, undecided_because
from bridge_client.claude_code.hook import HookCall, Refusal, report
from bridge_client.client import PATIENCE_SECONDS, Client
from bridge_client.commands import exits, flags, terminal_text
from bridge_client.commands.signals import Stopped
from bridge_client.errors import ClientError, ProblemError
from bridge_client.results import Choice, Question

# Long enough for a person to see the card, short enough for a person who waits at the terminal.
TIMEOUT_SECONDS = 300.0
# A person at a terminal sees nothing while the ask is retried; a restart of the bridge takes about 5 seconds.
ASK_PATIENCE_SECONDS = 10.0
# Claude continues only after this hook, so closing a card must not take long.
REPORT_PATIENCE_SECONDS = 5.0

# Set by Claude Code for its hooks: 0 in `-p`, stream-json and the SDK, 1 where a person is at the terminal.
ATTENDED = "CLAUDE_CODE_SESSION_ATTENDED"

EPILOG = """Reads a PreToolUse, PermissionRequest or PostToolUse envelope from stdin. If no answer comes or
the bridge is down it prints nothing, and Claude Code shows its own dialog. For an envelope that it does not
understand, such as one of another agent, it prints a line on stderr and exits with 0. `ask-bridge install
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
        default=TIMEOUT_SECONDS,
        metavar="SECONDS",
        help=f"how long to wait for an answer ({TIMEOUT_SECONDS:g})",
    )
    parser.add_argument(
        "--headless",
        action="store_true",
        default=os.environ.get(ATTENDED) == "0",
        help="there is no person at a terminal: without an answer, tell the model instead of opening a "
        "dialog (Claude Code sets this by itself)",
    )
    parser.add_argument("--agent", default=envelopes.AGENT, help=f"the name on the card ({envelopes.AGENT})")
    flags.add_connection(parser)


def run(args: argparse.Namespace) -> int:
    envelope = _read_envelope()
    if problem := envelopes.problem_with(envelope):
        terminal_text.remark(f"the hook does not understand this envelope: {problem}")
        return exits.OK
    if not envelopes.is_about_questions(envelope):
        return exits.OK
    is_report = envelopes.is_report(envelope)
    call = HookCall(envelope, args.timeout, args.headless)
    try:
        patience_seconds = REPORT_PATIENCE_SECONDS if is_report else _ask_patience_seconds(args)
        client = Client.from_settings(flags.load_settings(args), patience_seconds=patience_seconds)
        if is_report:
            _print_output(report(envelope, _RoomOverHttp(client)))
        else:
            _print_decision(call, _ask_and_wait(call, client, args.agent))
    except ClientError as error:
        undecided = undecided_because(error)
        if is_report:
            terminal_text.remark(undecided.reason)
        else:
            _print_decision(call, undecided)
        # No failure if the bridge is unreachable for now, or refuses the question: the agent shows its own
        # dialog. A wrong setup is an error, which the terminal shows.
        is_unreachable = exits.code_of(error) == exits.UNREACHABLE
        return exits.OK if is_unreachable or _is_refused(error) or args.headless else exits.FAILED
    except Stopped:
        pass  # the wait is ended; Claude Code does not read the output of a stopped hook
    return exits.OK


def _ask_patience_seconds(args: argparse.Namespace) -> float:
    return min(PATIENCE_SECONDS, args.timeout) if args.headless else ASK_PATIENCE_SECONDS


def _ask_and_wait(call: HookCall, client: Client, agent: str) -> Decision:
    started = time.monotonic()
    cwd, transcript_path = (str(call.envelope.get(name) or "") for name in ("cwd", "transcript_path"))
    question = call.ask(client.ask, agent=agent, context=context.gather(cwd, transcript_path))
    left = max(0.0, call.wait_seconds - (time.monotonic() - started))
    return call.decide(client.wait(question.id, left))


class _RoomOverHttp:
    """`claude_code.hook.Room`, implemented with the API."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def open_questions(self, session_id: str) -> Iterator[Question]:
        return (each for each in self._client.questions(status="open") if each.session_id == session_id)

    def answer(self, question: Question, choices: list[Choice]) -> Refusal | None:
        try:
            self._client.report_answer(question.id, choices)
        except ProblemError as error:
            if error.code in (Refusal.NEEDS_PEOPLE.value, Refusal.MISSING_SCOPE.value):
                return Refusal(error.code)
            if error.status == 409:
                return Refusal.SETTLED
            raise
        return None

    def withdraw(self, question: Question) -> None:
        # Whether or not the card is closed: Claude must not act on the answer from the terminal.
        with suppress(ClientError):
            self._client.withdraw(question.id)


def _is_refused(error: ClientError) -> bool:
    """Whether the bridge does not take what was asked or reported."""
    return isinstance(error, ProblemError) and error.status in (400, 413, 422)


def _read_envelope() -> Any:
    try:
        return json.loads(sys.stdin.buffer.read())
    except (ValueError, RecursionError):
        return None


def _print_decision(call: HookCall, decision: Decision) -> None:
    if isinstance(decision, Undecided):
        terminal_text.remark(decision.reason)
    _print_output(call.output(decision))


def _print_output(output: dict[str, Any] | None) -> None:
    if output is not None:
        sys.stdout.write(json.dumps(output) + os.linesep)
        sys.stdout.flush()
