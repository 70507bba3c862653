"""`ask-bridge listen`: the room as it happens."""

from __future__ import annotations

import argparse

from bridge_client.commands import exits, flags, terminal_text

EPILOG = """Prints one message a line as JSON, from now on or after an id, until it is stopped. It finds its
way back after restarts by itself and then goes on behind the last line.

example:
  ask-bridge listen | jq -r 'select(.type == "AskUserQuestionResponse").content'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("room_to_read", nargs="?", metavar="ROOM", help="instead of --room")
    parser.add_argument("--after", default="", metavar="ID", help="begin behind this id")
    flags.add_connection(parser)


def run(args: argparse.Namespace) -> int:
    args.room = args.room_to_read or args.room
    for message in flags.make_client(args).events(args.after):
        terminal_text.write_json(message)
    return exits.OK
