"""Locks: why a person who sees an open question may not decide it, or not yet.

Pages and streams need it for thousands of cards and viewers, so it is computed in memory from the person's
`Standing` and the question. Whether a form is accepted is decided by `lifecycle`.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from django.db.models import F, Q

from rooms import membership
from rooms.contract.restrictions import Lock, Restriction, restriction
from rooms.models import Membership, Question, QuestionQuerySet, Room
from rooms.permissions import permissions


@dataclass(frozen=True, slots=True)
class Standing:
    """A person's roles and permissions in some rooms, as they were when they were read."""

    username: str
    member_of: frozenset[int]
    manages: frozenset[int]
    # Rooms in which they may see questions, but not answer.
    watches: frozenset[int]
    # The groups of the person that belong to a room, by room and name.
    groups: frozenset[tuple[int, str]] = frozenset()
    # A superuser manages all rooms, whatever the roles.
    is_superuser: bool = False

    def has_role(self, role: str, room_id: int) -> bool:
        return room_id in (self.manages if role == Membership.Role.MANAGER else self.member_of)


def standing_of(user: Any, rooms: Collection[Room]) -> Standing:
    """The person's roles and permissions in these rooms."""
    rules = permissions()
    is_superuser = getattr(user, "is_superuser", False)
    roles = membership.roles_of(user)
    if not rules.manages_by_membership:
        manages = {room.pk for room in rooms if rules.may_manage(user, room)}
    elif is_superuser:
        manages = {room.pk for room in rooms}
    else:
        manages = set(roles.manages)
    watches = () if rules.lets_all_answer else (room.pk for room in rooms if not rules.may_answer(user, room))
    return Standing(
        user.get_username(),
        roles.member_of,
        frozenset(manages),
        frozenset(watches),
        roles.groups,
        bool(is_superuser),
    )


def outdated(known: Collection[tuple[Any, Standing]]) -> set[tuple[Any, Standing]]:
    """Which of these people, with the standing that was read before, have other roles by now.

    Only roles that are memberships: what a portal's own rules say is asked when a stream is admitted again.
    """
    counts_roles = permissions().manages_by_membership
    roles_now = membership.roles_of_all(list({user_id for user_id, _ in known}))
    changed = set()
    for user_id, before in known:
        roles = roles_now[user_id]
        is_same = (roles.member_of, roles.groups) == (before.member_of, before.groups)
        if not is_same or (counts_roles and not before.is_superuser and roles.manages != before.manages):
            changed.add((user_id, before))
    return changed


def lock_on(question: Question, standing: Standing | None) -> Lock | None:
    """Why this person may not decide an open question; None if they may, or it is settled."""
    if standing is None or not question.is_open:
        return None
    return _lock(restriction_of(question), question.room_id, standing)


def may_write(room_id: int, standing: Standing | None) -> bool:
    """Whether this person may answer and write in the room, and not only watch."""
    return standing is None or room_id not in standing.watches


def restriction_of(question: Question) -> Restriction | None:
    return restriction(question.care, is_first_asked=question.escalates_at is not None)


def _lock(limits: Restriction | None, room_id: int, standing: Standing) -> Lock | None:
    if room_id in standing.watches:
        return Lock.WATCH
    if limits is None:
        return None
    return limits.lock(
        standing.username,
        lambda role: standing.has_role(role, room_id),
        lambda group: (room_id, group) in standing.groups,
    )


@dataclass(frozen=True)
class Locked:
    """What does not wait for a person: questions, and all those of rooms in which they only watch."""

    # Questions that others decide, or that this person has voted on.
    question_ids: Collection[str]
    room_ids: Collection[int]
    # Decided questions that can still be undone.
    held_ids: Collection[str]
    # How many of all these an agent waits for, by room.
    attended: Counter[int]

    @property
    def condition(self) -> Q:
        """Selects the questions that do not wait for this person."""
        return Q(pk__in=[*self.question_ids, *self.held_ids]) | Q(room__in=self.room_ids)


def locked_in(rooms: Collection[Room], standing: Standing) -> Locked:
    """The open questions of these rooms that do not wait for this person."""
    lock = cache(lambda limits, room_id: _lock(limits, room_id, standing))
    locked = {
        question.id: (question.room_id, question.is_attended)
        for question in _careful(room__in=rooms)
        if lock(question.restriction, question.room_id) or standing.username in question.voters
    }
    held = {id: rest for id, *rest in held_in(rooms).values_list("pk", "room_id", "is_attended")}
    attended = Counter(room_id for room_id, is_attended in (locked | held).values() if is_attended)
    return Locked(list(locked), standing.watches, list(held), attended)


def held_in(rooms: Collection[Room]) -> QuestionQuerySet:
    """The decisions of these rooms that can still be undone."""
    # Plus zero: with the plain column SQLite reads all open questions of the rooms, not the few held ones.
    held = Question.objects.held().order_by().annotate(of_room=F("room_id") + 0)
    return held.filter(of_room__in=[room.pk for room in rooms])


def named_in(rooms: Collection[Room], standing: Standing) -> list[str]:
    """The open questions of these rooms that this person may decide by name or by role."""
    lock = cache(lambda limits, room_id: _lock(limits, room_id, standing))
    return [
        question.id
        for question in _careful(room__in=rooms)
        if question.restriction and not lock(question.restriction, question.room_id)
    ]


# Who may decide a question, and who has voted on it.
Ballot = tuple[Restriction | None, frozenset[str]]


def ballots_in(room_id: int) -> Counter[Ballot]:
    """The ballots of a room's attended questions that do not wait for all people, with their numbers."""
    careful = _careful(room=room_id, is_attended=True, held_until=None)
    ballots = Counter((question.restriction, question.voters) for question in careful)
    del ballots[None, frozenset()]
    return ballots


def count_locked(ballots: Counter[Ballot], room_id: int, standing: Standing | None) -> int:
    """How many of these questions do not wait for the person; computed in memory for each viewer."""
    if standing is None:
        return 0
    return sum(
        count
        for (limits, voters), count in ballots.items()
        if standing.username in voters or _lock(limits, room_id, standing)
    )


class Careful(NamedTuple):
    """What decides whether an open question with options of care waits for a person."""

    id: str
    room_id: int
    is_attended: bool
    restriction: Restriction | None
    # The user names of the people who have voted.
    voters: frozenset[str]


NO_VOTERS: frozenset[str] = frozenset()


def _careful(**conditions: Any) -> Iterator[Careful]:
    """The open questions with options of care; every page and every change of a room reads all of them."""
    # As plain rows, and the same text once: most questions have the care of their room.
    parsed = cache(lambda care, is_first_asked: restriction(json.loads(care), is_first_asked=is_first_asked))
    questions = Question.objects.open().careful().filter(**conditions).order_by()
    columns = ("pk", "room_id", "is_attended", "care_text", "escalates_at", "votes")
    for id, room_id, is_attended, care, escalates_at, votes in questions.annotate(
        care_text=F("care_text")
    ).values_list(*columns):
        voters = frozenset(vote["username"] for vote in votes) if votes else NO_VOTERS
        yield Careful(id, room_id, is_attended, parsed(care, escalates_at is not None), voters)
