"""`ask-bridge withdraw`: a question that needs no answer any more."""

from __future__ import annotations

import argparse

from bridge_client.commands import exits, flags

EPILOG = """example:
  ask-bridge withdraw q_01j8…

Fails with exit code 1 if somebody has settled it already.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("id", help="of the question")
    flags.add_connection(parser)


def run(args: argparse.Namespace) -> int:
    question = flags.make_client(args, needs_room=False).withdraw(args.id)
    print(f"Withdrawn: {question.id}")
    return exits.OK
