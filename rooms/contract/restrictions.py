"""Restrictions: who may decide an open question, and why a person may not. No database here."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rooms.contract.care import care_of, group_in


class Lock(StrEnum):
    """Why a person may not decide an open question."""

    WATCH = "watch"  # they may see the room, but not answer in it
    VOTES = "votes"  # only others may vote

    FIRST = "first"  # others are asked first


@dataclass(frozen=True)
class Restriction:
    """Who may decide an open question now, where not all people of the room may."""

    # No voters: all people may vote. Neither people nor a role: all may decide at once.
    voters: frozenset[str]
    first: frozenset[str]
    role: str | None

    def has(self, lock: Lock) -> bool:
        """Whether this lock can apply to a viewer."""
        return bool(self.voters) if lock == Lock.VOTES else bool(self.first) or self.role is not None

    def lock(
        self, username: str, has_role: Callable[[str], bool], is_in_group: Callable[[str], bool]
    ) -> Lock | None:
        """Why this person may not decide; None if they may."""
        if self.voters and not _is_among(username, self.voters, is_in_group):
            return Lock.VOTES
        if not self.has(Lock.FIRST):
            return None
        is_named = _is_among(username, self.first, is_in_group)
        is_asked_first = is_named or (self.role is not None and has_role(self.role))
        return None if is_asked_first else Lock.FIRST


def _is_among(username: str, names: frozenset[str], is_in_group: Callable[[str], bool]) -> bool:
    """Whether these names, of people and groups, mean this person."""
    if username in names:
        return True
    return any(is_in_group(group) for name in names if (group := group_in(name)) is not None)


def restriction(stored: dict[str, Any] | None, *, is_first_asked: bool) -> Restriction | None:
    """Who may decide a question with this stored care; None where all people of the room may."""
    care = care_of(stored)
    if care is None:
        return None
    voters = care.votes.of if care.votes else []
    first = care.first if is_first_asked else None
    if not voters and first is None:
        return None
    return Restriction(
        frozenset(voters), frozenset(first.people if first else ()), first.role if first else None
    )
