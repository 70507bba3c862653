"""Flags of all commands that connect to a bridge."""

from __future__ import annotations

import argparse

from bridge_client import settings
from bridge_client.client import PATIENCE_SECONDS, Client
from bridge_client.commands import terminal_text
from bridge_client.errors import ClientError
from bridge_client.settings import Settings

# The longest deadline that a bridge accepts: a month.
LONGEST_TIMEOUT_SECONDS = 30 * 24 * 3600


def add_connection(parser: argparse.ArgumentParser, *, with_room: bool = True) -> None:
    group = parser.add_argument_group("the bridge")
    group.add_argument("--url", help="its address, with its prefix (ASK_BRIDGE_URL)")
    group.add_argument(
        "--key", help="the agent key (better in ASK_BRIDGE_KEY or the file: other users can see flags)"
    )
    if with_room:
        group.add_argument("--room", help="the room (ASK_BRIDGE_ROOM)")
    group.add_argument("--config", help="the file with url, key, room and care (ASK_BRIDGE_CONFIG)")


def seconds(text: str) -> float:
    """A number of seconds from 0 to a month."""
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None
    if not 0 <= number <= LONGEST_TIMEOUT_SECONDS:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0 and {LONGEST_TIMEOUT_SECONDS} seconds")
    return number


def load_settings(args: argparse.Namespace, *, needs_room: bool = True) -> Settings:
    return settings.load(
        args.url, args.key, getattr(args, "room", None), config=args.config, needs_room=needs_room
    )


def make_client(
    args: argparse.Namespace, *, needs_room: bool = True, patience_seconds: float = PATIENCE_SECONDS
) -> Client:
    return Client.from_settings(
        load_settings(args, needs_room=needs_room),
        patience_seconds=patience_seconds,
        on_retry=print_retry,
    )


def print_retry(error: ClientError) -> None:
    terminal_text.remark(f"{error}; trying again …")
