"""`ask-bridge wait`: waits for the answer to an earlier question."""

from __future__ import annotations

import argparse

from bridge_client.commands import exits, flags, outcome

EPILOG = f"""example:
  ask-bridge wait q_01j8… --timeout 600

{exits.LEGEND}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("id", help="the id of the question")
    parser.add_argument(
        "--timeout",
        type=flags.seconds,
        default=300.0,
        metavar="SECONDS",
        help="how long to wait (300); the question stays open afterwards. 0 checks once",
    )
    parser.add_argument("--json", action="store_true", help="print the whole question object")
    flags.add_connection(parser)


def run(args: argparse.Namespace) -> int:
    client = flags.make_client(args, needs_room=False)
    return outcome.report(client.wait(args.id, args.timeout), as_json=args.json)
