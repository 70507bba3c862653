"""`ask-bridge listen`: prints new messages of the room as they arrive."""

from __future__ import annotations

import argparse

from bridge_client.commands import exits, flags, terminal_text

EPILOG = """Prints one message per line as JSON, from now on or after an id, until it is stopped. After a
restart of the bridge it reconnects and continues after the last message.

example:
  ask-bridge listen | jq -r 'select(.type == "AskUserQuestionResponse").content'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("room_to_read", nargs="?", metavar="ROOM", help="instead of --room")
    parser.add_argument("--after", default="", metavar="ID", help="start after this id")
    flags.add_connection(parser)


def run(args: argparse.Namespace) -> int:
    args.room = args.room_to_read or args.room
    for message in flags.make_client(args).events(args.after):
        terminal_text.write_json(message)
    return exits.OK
