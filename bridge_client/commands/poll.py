"""`ask-bridge poll`: prints the messages of the room, answers included."""

from __future__ import annotations

import argparse

from bridge_client.client import PAGE_SIZE, Client
from bridge_client.commands import exits, flags, terminal_text
from bridge_client.transport.deadlines import Deadline
from bridge_client.transport.waiting import POLL_SECONDS

EPILOG = """Prints one message per line as JSON, oldest first, with id, sender, sender_type, type, content,
color and created_at.

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
    if args.limit is not None:
        page, _ = client.messages(args.after, wait_seconds=args.wait, limit=args.limit)
        _print(page)
        return exits.OK
    after = _wait_for_messages(client, args.after, args.wait)
    while after is not None:
        page, after = client.messages(after)
        _print(page)
    return exits.OK


def _wait_for_messages(client: Client, after: str, seconds: float) -> str | None:
    """Print the first page as soon as there is one; the id after which the next one begins."""
    deadline = Deadline(seconds)
    while True:
        wait_seconds = min(POLL_SECONDS, deadline.seconds_left)
        page, following = client.messages(after, wait_seconds=wait_seconds, limit=PAGE_SIZE)
        _print(page)
        if page or not deadline.seconds_left:
            return following


def _print(messages: list[dict[str, object]]) -> None:
    for message in messages:
        terminal_text.write_json(message)
