"""The flags of a careful question: who is asked first, how many have to agree, what can be undone."""

from __future__ import annotations

import argparse
from typing import Any

from bridge_client.errors import SettingsError
from bridge_client.settings import CARE_VARIABLE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "care", f"With any of these the question does without the care of {CARE_VARIABLE}."
    )
    group.add_argument(
        "--first",
        action="append",
        default=[],
        metavar="NAME",
        help="somebody who is asked first, by user name; any number of them",
    )
    group.add_argument(
        "--first-role", choices=["manager", "member"], help="everybody with this role is asked first"
    )
    group.add_argument("--votes", type=int, metavar="N", help="how many people have to choose the same")
    group.add_argument(
        "--voter",
        action="append",
        default=[],
        metavar="NAME",
        help="somebody who may vote; any number of them (everybody in the room)",
    )
    group.add_argument(
        "--undo", type=int, metavar="SECONDS", help="how long people can undo a choice before it counts"
    )
    group.add_argument(
        "--escalate",
        type=int,
        metavar="SECONDS",
        help="after how long without an answer everybody may decide and managers are told",
    )


def care_from(args: argparse.Namespace) -> dict[str, Any] | None:
    """What the flags ask for, None without any."""
    if args.voter and args.votes is None:
        raise SettingsError("--voter needs --votes: how many of them have to choose the same")
    care = {
        "first": {"people": args.first, "role": args.first_role} if args.first or args.first_role else None,
        "votes": None if args.votes is None else {"needed": args.votes, "of": args.voter},
        "undo_seconds": args.undo,
        "escalate_seconds": args.escalate,
    }
    return {name: value for name, value in care.items() if value is not None} or None
