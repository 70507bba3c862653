"""`ask-bridge claude`: Claude Code as a child whose questions the room answers."""

from __future__ import annotations

import argparse
from importlib import import_module

from bridge_client.commands import flags

EPILOG = """example:
  ask-bridge claude --room ops -- -p "Set up the project; ask me what you need to know"
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    flags.add_connection(parser)
    flags.add_own(parser, "bridge_client.claude_code.stream_json")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="-- ARGS", help="for claude itself")


def run(args: argparse.Namespace) -> int:
    # Older Pythons leave the separator in.
    if args.arguments[:1] == ["--"]:
        args.arguments = args.arguments[1:]
    settings = flags.load_settings(args)
    return int(import_module("bridge_client.claude_code.stream_json").main(args, settings))
