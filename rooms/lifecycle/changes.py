"""What every change of a room has in common: its revision, its lock, and who is told of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections, transaction
from django.utils import timezone

from rooms.database import alias, writing
from rooms.lifecycle.refusals import RoomArchived
from rooms.models import Question, QuestionQuerySet, Room
from rooms.signals import question_asked, question_settled, result_ready, room_changed

# One statement where Django's own would be two: every change of every question begins with it.
NEXT_REVISION = (
    f"UPDATE {Room._meta.db_table} SET revision = revision + 1, changed_at = %s "  # noqa: S608 - a name of ours
    "WHERE id = %s RETURNING revision, archived_at"
)


def next_revision(room_id: int, *, in_active_room: bool = False) -> int:
    """Take the room's next revision in this transaction; its row lock makes commits follow the numbers."""
    connection = connections[alias()]
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    with connection.cursor() as cursor:
        cursor.execute(NEXT_REVISION, [now, room_id])
        found = cursor.fetchone()
    if found is None or (in_active_room and found[1]):
        raise RoomArchived
    revision: int = found[0]
    return revision


@contextmanager
def locked(question: Question) -> Iterator[Question]:
    """The question as it is until the end of this transaction: nobody else writes in its room."""
    with writing():
        Room.objects.using(alias()).select_for_update().get(pk=question.room_id)
        yield Question.objects.using(alias()).with_answer().get(pk=question.pk)


def change(question_id: str, changeable: QuestionQuerySet, **fields: Any) -> bool:
    """Change a mark beside the state, if the question is still one of the changeable: one caller wins."""
    changeable = changeable.filter(pk=question_id)
    room_id = changeable.values_list("room_id", flat=True).first()
    if room_id is None:
        return False
    with writing():
        revision = next_revision(room_id)
        won = changeable.update(revision=revision, **fields)
        if won:
            announce(room_id, revision, question_id)
        else:
            transaction.set_rollback(True, using=alias())
    return won > 0


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
