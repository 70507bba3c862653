"""`ask-bridge ask`: asks the room and prints the answer."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from bridge_client.claude_code.context import gather
from bridge_client.commands import care, exits, flags, outcome, terminal_text
from bridge_client.errors import SettingsError
from bridge_client.transport.deadlines import longest_wait

TIMEOUT_SECONDS = 300.0

EPILOG = f"""examples:
  ask-bridge ask "Deploy now?" --option Yes --option "No: wait for the morning" --timeout 600
  ask-bridge ask "Drop the old table?" --option Drop --option Keep --votes 2 --undo 10
  ask-bridge ask "Which checks?" --multi --option Unit --option Browser --option Load --json
  echo '{{"questions": [...]}}' | ask-bridge ask -

{exits.LEGEND}
A default that was used counts as answered; stderr says so.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("question", nargs="?", help="its text; - reads a question as JSON from stdin")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="LABEL[: DESCRIPTION]",
        help="an option to choose; two to four of them",
    )
    parser.add_argument("--header", help="a word or two above the question")
    parser.add_argument("--multi", action="store_true", help="any number of options may be chosen")
    parser.add_argument(
        "--timeout",
        type=flags.seconds,
        metavar="SECONDS",
        help=f"when the question expires ({TIMEOUT_SECONDS:g}; 0: never)",
    )
    parser.add_argument(
        "--default", action="append", metavar="LABEL", help="the answer that counts if no one answers in time"
    )
    parser.add_argument("--agent", default="", help="the name on the card")
    parser.add_argument("--color", default="", help="its colour, such as #818cf8")
    parser.add_argument("--context", default="", metavar="TEXT", help="what people need to know to decide")
    parser.add_argument(
        "--idempotency-key",
        default="",
        metavar="KEY",
        help="ask only once with this key",
    )
    parser.add_argument("--json", action="store_true", help="print the whole question object")
    care.add_arguments(parser)
    flags.add_connection(parser)


def run(args: argparse.Namespace) -> int:
    body = _question_from_stdin() if args.question == "-" else _question_from_flags(args)
    timeout_seconds = _timeout_seconds(args.timeout, body)
    client = flags.make_client(args)
    context = {**gather(os.getcwd()), **(body.pop("context", None) or {})}
    if args.context:
        context["text"] = args.context
    question = client.ask(
        body,
        agent=args.agent,
        color=args.color,
        context=context,
        timeout_seconds=timeout_seconds,
        care=care.care_from(args),
        idempotency_key=args.idempotency_key,
    )
    if question.is_open:
        terminal_text.remark(f"waiting for an answer at {question.url}")
    result = client.wait(question.id, longest_wait(question, timeout_seconds))
    return outcome.report(result, as_json=args.json)


def _question_from_flags(args: argparse.Namespace) -> dict[str, Any]:
    if not args.question:
        raise SettingsError("ask needs a question, or - for JSON from stdin; see ask-bridge ask --help")
    body: dict[str, Any] = {
        "question": args.question,
        "multiSelect": args.multi,
        "options": [_option(text) for text in args.option],
    }
    if args.header:
        body["header"] = args.header
    if args.default:
        body["default"] = {args.question: args.default}
    return body


def _option(text: str) -> dict[str, str]:
    label, separator, description = text.partition(": ")
    return {"label": label, "description": description} if separator else {"label": text}


def _question_from_stdin() -> dict[str, Any]:
    try:
        body = json.loads(sys.stdin.buffer.read())
    except (ValueError, RecursionError):
        raise SettingsError("stdin has to be a question as JSON") from None
    if isinstance(body, list):
        return {"questions": body}
    if not isinstance(body, dict):
        raise SettingsError("stdin has to be a JSON object or a list of questions")
    return body


def _timeout_seconds(flag: float | None, body: dict[str, Any]) -> float | None:
    """The flag, else the question's own timeout, else the default; 0 is none."""
    own = body.pop("timeout_seconds", None)
    if flag is None:
        flag = float(own) if isinstance(own, (int, float)) else TIMEOUT_SECONDS
    return flag or None
