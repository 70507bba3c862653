"""`ask-bridge poll`: prints the messages of the room, answers included."""

from __future__ import annotations

import argparse

from bridge_client.client import PAGE_SIZE
from bridge_client.commands import exits, flags, terminal_text
from bridge_client.transport.waiting import POLL_SECONDS

EPILOG = """Prints one message per line as JSON, oldest first, with id, sender, sender_type, type, content,
color and created_at. A message of a person who corrects an answer also names its question.

example:
  ask-bridge poll --after q_01j8… --wait 60
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("room_to_read", nargs="?", metavar="ROOM", help="instead of --room")
    parser.add_argument("--after", default="", metavar="ID", help="only messages after this id")
    parser.add_argument(
        "--wait",
        type=flags.seconds,
        nargs="?",
        const=POLL_SECONDS,
        default=0.0,
        metavar="SECONDS",
        help=f"if there is no message, wait this long for one ({POLL_SECONDS:g})",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="at most N (all)")
    flags.add_connection(parser)


def run(args: argparse.Namespace) -> int:
    args.room = args.room_to_read or args.room
    client = flags.make_client(args)
    limit = PAGE_SIZE if args.limit is None else args.limit
    page, after = client.messages(args.after, wait_seconds=args.wait, limit=limit)
    _print(page)
    while args.limit is None and after is not None:
        page, after = client.messages(after)
        _print(page)
    return exits.OK


def _print(messages: list[dict[str, object]]) -> None:
    for message in messages:
        terminal_text.write_json(message)
