"""`ask-bridge send`: sends a message to the room."""

from __future__ import annotations

import argparse
import sys

from bridge_client.commands import exits, flags

EPILOG = """examples:
  ask-bridge send "Migration finished, 12 tables moved" --sender refactor-bot
  make test 2>&1 | tail -20 | ask-bridge send - --log
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("text", help="the message; - reads it from stdin")
    parser.add_argument("--sender", default="", help="the name of the sender (the label of the key)")
    parser.add_argument("--color", default="", help="the sender's colour, such as #818cf8")
    parser.add_argument("--log", action="store_true", help="a line of a log, shown smaller")
    flags.add_connection(parser)


def run(args: argparse.Namespace) -> int:
    text = sys.stdin.read() if args.text == "-" else args.text
    sent = flags.make_client(args).send_message(
        text, sender=args.sender, color=args.color, type="log" if args.log else "message"
    )
    print(f"Message sent: {sent['id']}")
    return exits.OK
