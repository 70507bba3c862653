"""`ask-bridge withdraw`: withdraws a question."""

from __future__ import annotations

import argparse

from bridge_client.commands import exits, flags

EPILOG = """example:
  ask-bridge withdraw q_01j8…

Exits with 1 if the question is settled already.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("id", help="the id of the question")
    flags.add_connection(parser)


def run(args: argparse.Namespace) -> int:
    question = flags.make_client(args, needs_room=False).withdraw(args.id)
    print(f"Withdrawn: {question.id}")
    return exits.OK
