"""Flags for the care of a question: who is asked first, how many have to agree, how long to undo."""

from __future__ import annotations

import argparse
from typing import Any

from bridge_client.errors import SettingsError
from bridge_client.settings import CARE_VARIABLE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("care", f"Any of these replaces the care of {CARE_VARIABLE}.")
    group.add_argument(
        "--first",
        action="append",
        default=[],
        metavar="NAME",
        help="the user name of a person who is asked first; can be repeated",
    )
    group.add_argument(
        "--first-role", choices=["manager", "member"], help="all people with this role are asked first"
    )
    group.add_argument("--votes", type=int, metavar="N", help="how many people have to choose the same")
    group.add_argument(
        "--voter",
        action="append",
        default=[],
        metavar="NAME",
        help="the user name of a person who may vote; can be repeated (all in the room)",
    )
    group.add_argument(
        "--undo", type=int, metavar="SECONDS", help="how long people can undo a choice before it counts"
    )
    group.add_argument(
        "--escalate",
        type=int,
        metavar="SECONDS",
        help="after so long without an answer all may decide, and managers are notified",
    )


def care_from(args: argparse.Namespace) -> dict[str, Any] | None:
    """The care of the flags, None without any."""
    if args.voter and args.votes is None:
        raise SettingsError("--voter needs --votes: how many of them have to choose the same")
    care = {
        "first": {"people": args.first, "role": args.first_role} if args.first or args.first_role else None,
        "votes": None if args.votes is None else {"needed": args.votes, "of": args.voter},
        "undo_seconds": args.undo,
        "escalate_seconds": args.escalate,
    }
    return {name: value for name, value in care.items() if value is not None} or None
