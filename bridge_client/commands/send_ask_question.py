"""`ask-bridge send-ask-question`: asks without waiting; `poll` and `listen` print the answer."""

from __future__ import annotations

import argparse
import json
import sys

from bridge_client.commands import exits, flags

USAGE = "Usage: ask-bridge send-ask-question <roomId> <sender> '<json>' [--color <color>]"
EPILOG = """example:
  ask-bridge send-ask-question ops my-agent \\
    '{"question":"Which approach?","options":[{"label":"A"},{"label":"B"}]}' --color "#818cf8"
  ask-bridge poll ops --after q_01j8… --wait 60
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    # Optional for argparse only: `run` prints the messages that existing scripts expect.
    parser.add_argument("room_to_ask", nargs="?", metavar="ROOM", help="the room to ask in")
    parser.add_argument("sender", nargs="?", metavar="SENDER", help="the name on the card")
    parser.add_argument(
        "payload", nargs="?", metavar="JSON", help="the question, its options, multiSelect, header"
    )
    parser.add_argument("--color", default="", help="the sender's colour, such as #818cf8")
    flags.add_connection(parser)


def run(args: argparse.Namespace) -> int:
    if not args.room_to_ask or not args.sender or not args.payload:
        return _refuse(USAGE)
    try:
        payload = json.loads(args.payload)
    except (ValueError, RecursionError):
        return _refuse("Error: payload must be valid JSON")
    if (
        not isinstance(payload, dict)
        or not payload.get("question")
        or not isinstance(payload.get("options"), list)
    ):
        return _refuse("Error: payload must have 'question' and 'options' fields")
    args.room = args.room_to_ask
    sent = flags.make_client(args).send_message(
        args.payload, sender=args.sender, color=args.color, type="AskUserQuestion"
    )
    print(f"Question sent: {sent['id']}")
    return exits.OK


def _refuse(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    # The exit code of the command that this one replaces.
    return exits.FAILED
