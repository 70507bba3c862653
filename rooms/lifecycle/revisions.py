"""What every change of a room has in common: its revision, its lock, and who is told of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from rooms import audit
from rooms.db.compiled import Select, Update
from rooms.db.transactions import alias, writing
from rooms.lifecycle.exceptions import RoomArchived
from rooms.models import AuditEntry, Question, QuestionQuerySet, Room
from rooms.signals import question_asked, question_settled, result_ready, room_changed

# Every change of every question begins with it.
NEXT_REVISION = Update(
    lambda id: Room.objects.filter(pk=id),
    "changed_at",
    revision=F("revision") + 1,
    returning=("revision", "close_after_seconds"),
)

# The same for a change that leaves an audit entry, so that its place in the chain costs no further statement.
NEXT_AUDITED = Update(
    lambda id: Room.objects.filter(pk=id),
    *("changed_at", "audit_head"),
    revision=F("revision") + 1,
    returning=("revision", "archived_at", "audit_previous"),
    **audit.CHAINED,
)


class Turn(NamedTuple):
    """The room's next revision, and its settings as they are until the end of the transaction."""

    revision: int
    close_after_seconds: int | None

    def closes_at(self) -> datetime | None:
        """When a question is closed that no agent waits for from now on."""
        seconds = self.close_after_seconds
        return None if seconds is None else timezone.now() + timedelta(seconds=seconds)


def next_turn(room_id: int) -> Turn:
    """Take the room's next revision in this transaction; its row lock makes commits follow the numbers."""
    found = NEXT_REVISION.first(id=room_id, changed_at=timezone.now())
    if found is None:
        raise RoomArchived
    return Turn(*found)


def next_revision(room_id: int) -> int:
    """The same where only the revision matters."""
    return next_turn(room_id).revision


def next_audited_revision(entry: AuditEntry, *, in_active_room: bool = False) -> int:
    """The same, and write down what this transaction changes."""
    found = NEXT_AUDITED.first(id=entry.chain, changed_at=timezone.now(), audit_head=entry.digest)
    if found is None or (in_active_room and found[1]):
        raise RoomArchived
    revision: int = found[0]
    audit.record_next(entry, previous=found[2])
    return revision


@contextmanager
def locked(question: Question) -> Iterator[Question]:
    """The question as it is until the end of this transaction: nobody else writes in its room."""
    with writing():
        Room.objects.using(alias()).select_for_update().get(pk=question.room_id)
        yield Question.objects.using(alias()).with_answer().get(pk=question.pk)


class Mark:
    """Something beside the state of a question: changed only if it is still as `changeable` finds it."""

    def __init__(self, changeable: Callable[..., QuestionQuerySet], *fields: str) -> None:
        self._room_of: Select[Any] = Select(changeable, "room_id")
        self._change = Update(changeable, "revision", *fields)

    def change(self, **given: Any) -> bool:
        """True to the one caller that gave the fields these values."""
        found = self._room_of.first(**given)
        if found is None:
            return False
        (room_id,) = found
        with writing():
            turn = next_turn(room_id)
            has_won = self._change.run(revision=turn.revision, **self._fields(turn), **given) > 0
            if has_won:
                announce(room_id, turn.revision, given["id"])
            else:
                transaction.set_rollback(True, using=alias())
        return has_won

    def _fields(self, turn: Turn) -> dict[str, Any]:
        """What depends on the room, beside what the caller gives."""
        return {}


class LeavingMark(Mark):
    """No agent waits any more: from now on the room's time to close the question runs."""

    def __init__(self, changeable: Callable[..., QuestionQuerySet], *fields: str) -> None:
        super().__init__(changeable, "agent_active", "is_attended", "closes_at", *fields)

    def _fields(self, turn: Turn) -> dict[str, Any]:
        return {"agent_active": False, "is_attended": False, "closes_at": turn.closes_at()}


def announce(
    room_id: int,
    revision: int,
    question_id: str | None = None,
    *,
    asked: Question | None = None,
    settled: Question | None = None,
) -> None:
    """After commit: first who waits for the result, then who watches the room, then the portal."""

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
