"""Removal of what is older than a room keeps: messages, notifications and questions, but no open ones.

It goes batch by batch, each in a transaction with one audit entry that names the removed questions. Of a
removed question the history keeps counts and times, so that figures of the past stay; no text and no name.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, Q, Value, When

from rooms import audit
from rooms.audit import Action
from rooms.conf import setting
from rooms.db import timezone
from rooms.db.transactions import alias, writing
from rooms.lifecycle.deleting import forget_earlier_answers
from rooms.models import (
    NAME_REMOVED,
    HistoryEntry,
    Message,
    Notice,
    Question,
    QuestionQuerySet,
    Room,
    RoomQuerySet,
)

# Rows of a kind per transaction: it takes about 30 milliseconds, for which a click may have to wait.
BATCH = 100

# All that could identify a question or a person in an entry of the history.
WITHOUT_TEXT: dict[str, Any] = {
    "question": None,
    "user": None,
    "agent_name": NAME_REMOVED,
    # Empty where no person is known: figures tell these answers apart.
    "person_name": Case(When(person_name="", then=Value("")), default=Value(NAME_REMOVED)),
    "text": "",
    "labels": "",
    "likeness": "",
}


@dataclass(frozen=True)
class Removed:
    """How many entries of a room were removed, or would be."""

    questions: int = 0
    messages: int = 0
    notifications: int = 0

    def __bool__(self) -> bool:
        return self.total > 0

    @property
    def total(self) -> int:
        return self.questions + self.messages + self.notifications

    def __add__(self, other: "Removed") -> "Removed":
        return Removed(
            self.questions + other.questions,
            self.messages + other.messages,
            self.notifications + other.notifications,
        )


def kept_days(room: Room) -> int:
    """For how many days the room keeps its entries; 0: forever."""
    days: int = setting("KEEP_DAYS") if room.keep_days is None else room.keep_days
    return days


def kept_since(room: Room, now: datetime | None = None) -> datetime | None:
    """What is older than this is removed; None: nothing is."""
    days = kept_days(room)
    return (now or timezone.now()) - timedelta(days=days) if days else None


def rooms_with_limit() -> RoomQuerySet:
    """The rooms that do not keep their entries forever, archived ones included."""
    has_own = Q(keep_days__gt=0)
    return Room.objects.filter(has_own | Q(keep_days=None) if setting("KEEP_DAYS") else has_own)


def count_old(room: Room, before: datetime) -> Removed:
    """What `remove_old` would remove by and by; the notifications of removed questions are not counted."""
    return Removed(
        _old(room, before).count(),
        Message.objects.filter(room=room, created_at__lt=before).count(),
        Notice.objects.filter(_old_notices(room, before)).count(),
    )


def remove_old(room: Room, before: datetime, limit: int = BATCH) -> Removed:
    """Remove one batch of what was settled or written before this moment; empty when nothing is left."""
    if not _first_old(room, before, 1):
        return Removed()
    with writing():
        current = Room.objects.using(alias()).select_for_update().get(pk=room.pk)
        found = _first_old(room, before, limit)
        removed = Removed(len(found.questions), len(found.messages), len(found.notices))
        if not removed:  # another process was first
            return removed
        details: dict[str, Any] = {
            "before": before.isoformat(),
            "questions": found.questions,
            "messages": removed.messages,
            "notifications": removed.notifications,
        }
        audit.record(Action.OLD_REMOVED, room, audit.SYSTEM, **details)
        # With more days than before it does not go back: what was removed is gone.
        Room.objects.filter(pk=room.pk).update(removed_until=max(before, current.removed_until or before))
        _remove(room.pk, found)
    return removed


@dataclass(frozen=True)
class _Found:
    """The ids of one batch."""

    questions: list[str]
    messages: list[str]
    notices: list[str]

    def __bool__(self) -> bool:
        return bool(self.questions or self.messages or self.notices)


def _first_old(room: Room, before: datetime, limit: int) -> _Found:
    notices = Notice.objects.filter(_old_notices(room, before)).order_by("created_at")
    return _Found(
        _first_questions(room, before, limit),
        _first_messages(room, before, limit),
        list(notices.values_list("pk", flat=True)[:limit]),
    )


def _old(room: Room, before: datetime) -> QuestionQuerySet:
    return Question.objects.settled().filter(room=room, settled_at__lt=before)


def _first_questions(room: Room, before: datetime, limit: int) -> list[str]:
    """The oldest settled questions, read in the order of the timeline up to the first that is too young.

    There is an index for that order and none for the time of the end; few questions are open for long.
    """
    timeline = Question.objects.filter(room=room, settled_position__isnull=False).order_by("position")
    columns = timeline.values_list("pk", "asked_at", "settled_at", "position")
    found: list[str] = []
    position = -1
    while len(found) < limit:
        rows = list(columns.filter(position__gt=position)[:BATCH])
        found += [pk for pk, _, settled_at, _ in rows if settled_at and settled_at < before]
        if len(rows) < BATCH or rows[-1][1] >= before:
            break
        position = rows[-1][3]
    # A question that is not in the history yet has to wait: its figures would be lost.
    counted = HistoryEntry.objects.filter(question__in=found[:limit]).values_list("question_id", flat=True)
    known = set(counted)
    return [pk for pk in found[:limit] if pk in known]


def _first_messages(room: Room, before: datetime, limit: int) -> list[str]:
    """The oldest messages; the order of the timeline is that of their times."""
    timeline = Message.objects.filter(room=room).order_by("position")
    oldest = timeline.values_list("pk", "created_at")[:limit]
    return [pk for pk, created_at in oldest if created_at < before]


def _old_notices(room: Room, before: datetime) -> Q:
    """Notifications that are done with. Waiting ones stay, and the escalation of an open question."""
    is_done = Q(sent_at__isnull=False) | Q(failed_at__isnull=False) | Q(cancelled_at__isnull=False)
    escalates_again = Q(kind=Notice.Kind.ESCALATED, question__settled_at=None)
    return Q(question__room=room, created_at__lt=before) & is_done & ~escalates_again


def _remove(room_id: int, found: _Found) -> None:
    forget_earlier_answers(room_id, found.questions)
    HistoryEntry.objects.filter(question__in=found.questions).update(**WITHOUT_TEXT)
    Notice.objects.filter(pk__in=found.notices).delete()
    Message.objects.filter(pk__in=found.messages).delete()
    Question.objects.filter(pk__in=found.questions).delete()
