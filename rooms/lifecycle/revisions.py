"""Revisions of a room: the number that each change takes, its row lock, and the signals that it sends."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import F

from rooms import audit
from rooms.db import timezone
from rooms.db.compiled import Select, Update
from rooms.db.transactions import alias, writing
from rooms.lifecycle.exceptions import RoomArchived
from rooms.models import AuditEntry, Question, QuestionQuerySet, Room
from rooms.signals import question_asked, question_settled, result_ready, room_changed

# The first statement of each change of a question.
NEXT_REVISION = Update(
    lambda id: Room.objects.filter(pk=id),
    "changed_at",
    revision=F("revision") + 1,
    returning=("revision", "close_after_seconds"),
)

# The same for a change with an audit entry: the same statement moves the head of the room's audit chain.
NEXT_AUDITED = Update(
    lambda id: Room.objects.filter(pk=id),
    *("changed_at", "audit_head"),
    revision=F("revision") + 1,
    returning=("revision", "archived_at", "audit_previous"),
    **audit.CHAINED,
)


class Revision(NamedTuple):
    """A new revision of a room, with the room's settings, which cannot change before the commit."""

    number: int
    close_after_seconds: int | None

    def closes_at(self) -> datetime | None:
        """When a question is closed if no agent waits for it from now on."""
        seconds = self.close_after_seconds
        return None if seconds is None else timezone.now() + timedelta(seconds=seconds)


def _next(room_id: int) -> Revision:
    found = NEXT_REVISION.first(id=room_id, changed_at=timezone.now())
    if found is None:
        raise RoomArchived
    return Revision(*found)


def next_revision(room_id: int) -> int:
    """Take the room's next revision in this transaction; the row lock makes commits follow the numbers."""
    return _next(room_id).number


def next_audited_revision(entry: AuditEntry, *, in_active_room: bool = False) -> int:
    """The same, and write the audit entry of this change."""
    found = NEXT_AUDITED.first(id=entry.chain, changed_at=timezone.now(), audit_head=entry.digest)
    if found is None or (in_active_room and found[1]):
        raise RoomArchived
    revision: int = found[0]
    audit.record_next(entry, previous=found[2])
    return revision


@contextmanager
def locked(question: Question) -> Iterator[Question]:
    """The question as it is now, in a transaction that locks its room: no other one can change it."""
    with writing():
        Room.objects.using(alias()).select_for_update().get(pk=question.room_id)
        yield Question.objects.using(alias()).with_answer().get(pk=question.pk)


class Mark:
    """Fields beside the state of a question, which change only while `changeable` finds the question."""

    def __init__(self, changeable: Callable[..., QuestionQuerySet], *fields: str) -> None:
        self._room_of: Select[Any] = Select(changeable, "room_id")
        self._change = Update(changeable, "revision", *fields)

    def change(self, **given: Any) -> bool:
        """Set the fields to these values; True for the one caller whose change was made."""
        found = self._room_of.first(**given)
        if found is None:
            return False
        (room_id,) = found
        with writing():
            revision = _next(room_id)
            is_changed = self._change.run(revision=revision.number, **self._fields(revision), **given) > 0
            if is_changed:
                announce(room_id, revision.number, given["id"])
            else:
                transaction.set_rollback(True, using=alias())
        return is_changed

    def _fields(self, revision: Revision) -> dict[str, Any]:
        """Values that depend on the room, beside those that the caller gives."""
        return {}


class LeavingMark(Mark):
    """Marks that no agent waits any more, and sets when the room closes the question for that reason."""

    def __init__(self, changeable: Callable[..., QuestionQuerySet], *fields: str) -> None:
        super().__init__(changeable, "agent_active", "is_attended", "closes_at", *fields)

    def _fields(self, revision: Revision) -> dict[str, Any]:
        return {"agent_active": False, "is_attended": False, "closes_at": revision.closes_at()}


def announce(
    room_id: int,
    revision: int,
    question_id: str | None = None,
    *,
    asked: Question | None = None,
    settled: Question | None = None,
) -> None:
    """Send the signals after commit: first for agents that wait, then for open pages, then for the portal."""

    def send() -> None:
        if settled:
            result_ready.send_robust(Question, question=settled)
        hint = {"question_id": question_id, "is_settled": settled is not None}
        room_changed.send_robust(Room, room_id=room_id, revision=revision, **hint)
        if asked:
            question_asked.send_robust(Question, question=asked)
        if settled:
            question_settled.send_robust(Question, question=settled)

    transaction.on_commit(send, using=alias())
