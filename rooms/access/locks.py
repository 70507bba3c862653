"""Locks: why a person who sees an open question may not decide it, or not yet.

Pages and streams need it for thousands of cards and viewers, so it is computed in memory from the person's
`Standing` and the question. Whether a form is accepted is decided by `lifecycle`.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from rooms.contract.restrictions import Lock, Restriction, restriction
from rooms.models import Membership, Question, Room
from rooms.permissions import permissions


@dataclass(frozen=True, slots=True)
class Standing:
    """A person's roles and permissions in some rooms, as they were when they were read."""

    username: str
    member_of: frozenset[int]
    manages: frozenset[int]
    # Rooms in which they may see questions, but not answer.
    watches: frozenset[int]

    def has_role(self, role: str, room_id: int) -> bool:
        return room_id in (self.manages if role == Membership.Role.MANAGER else self.member_of)


def standing_of(user: Any, rooms: Collection[Room]) -> Standing:
    """The person's roles and permissions in these rooms."""
    rules = permissions()
    roles = dict(Membership.objects.filter(user_id=user.pk).values_list("room_id", "role"))
    if not rules.manages_by_membership:
        manages = {room.pk for room in rooms if rules.may_manage(user, room)}
    elif getattr(user, "is_superuser", False):
        manages = {room.pk for room in rooms}
    else:
        manages = {room_id for room_id, role in roles.items() if role == Membership.Role.MANAGER}
    watches = () if rules.lets_all_answer else (room.pk for room in rooms if not rules.may_answer(user, room))
    return Standing(user.get_username(), frozenset(roles), frozenset(manages), frozenset(watches))


def lock_on(question: Question, standing: Standing | None) -> Lock | None:
    """Why this person may not decide an open question; None if they may, or it is settled."""
    if standing is None or not question.is_open:
        return None
    return _lock(restriction_of(question), question.room_id, standing)


def restriction_of(question: Question) -> Restriction | None:
    return restriction(question.care, is_first_asked=question.escalates_at is not None)


def _lock(limits: Restriction | None, room_id: int, standing: Standing) -> Lock | None:
    if room_id in standing.watches:
        return Lock.WATCH
    if limits is None:
        return None
    return limits.lock(standing.username, lambda role: standing.has_role(role, room_id))


@dataclass(frozen=True)
class Locked:
    """What a person may not decide: single questions, and all questions of rooms in which they only watch."""

    question_ids: Collection[str]
    room_ids: Collection[int]

    @property
    def condition(self) -> Q:
        """Selects the questions that only others may decide."""
        return Q(pk__in=self.question_ids) | Q(room__in=self.room_ids)


def locked_in(rooms: Collection[Room], standing: Standing) -> Locked:
    """The open questions of these rooms that this person may not decide."""
    careful = _careful().filter(room__in=rooms)
    locked = [question.pk for question in careful if lock_on(question, standing)]
    return Locked(locked, standing.watches)


def restrictions_in(room_id: int) -> Counter[Restriction]:
    """The restrictions of a room's attended questions, with the number of questions for each."""
    careful = _careful().filter(room=room_id, is_attended=True)
    return Counter(limits for question in careful if (limits := restriction_of(question)))


def count_locked(restrictions: Counter[Restriction], room_id: int, standing: Standing | None) -> int:
    """How many of these questions the person may not decide; computed in memory for each viewer."""
    if standing is None:
        return 0
    return sum(count for limits, count in restrictions.items() if _lock(limits, room_id, standing))


def _careful() -> Any:
    questions = Question.objects.open().filter(care__isnull=False).order_by()
    return questions.only("status", "care", "escalates_at", "room_id")
