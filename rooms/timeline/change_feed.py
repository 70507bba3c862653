"""Change feed of all rooms for background readers: history, memory, notifications.

A reader has a bookmark in each room. It reads the questions that changed after it, as they are now, and moves
the bookmark in the transaction that writes its results. So each change is processed once, even if several
processes read or one of them is killed. Only similar answers are written after that transaction: losing one
does no harm. Asking and answering do not wait for readers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.db.models import F, FilteredRelation, Q

from rooms.db.compiled import Select, Update
from rooms.db.interpreter import yield_to_clicks
from rooms.db.transactions import alias, lock_rooms, writing
from rooms.models import Bookmark, Question, QuestionQuerySet, Room

# Few enough that a click does not wait long for the write lock.
BATCH = 100

MOVE = Update(lambda id, read_from: Bookmark.objects.filter(pk=id, revision=read_from), "revision")


@dataclass(frozen=True)
class RoomChanges:
    """The changes of one room since the bookmark of a reader."""

    room: Room
    read_from: int
    _read_to: int
    _bookmark_id: int

    @property
    def has_more(self) -> bool:
        """Whether there are more changes than one batch."""
        return self._read_to < self.room.revision

    def questions(self, select: "Select[Question]") -> list[Question]:
        """The changed questions of this batch that the reader selects from `changed`."""
        return select.all(room=self.room.pk, after=self.read_from, to=self._read_to)

    @property
    def asked(self) -> QuestionQuerySet:
        """All questions that were asked since and are still open, oldest first; each in one batch only."""
        asked = Question.objects.filter(
            room=self.room, position__gt=self.read_from, position__lte=self.room.revision
        )
        return asked.open().order_by("position")

    def commit(self, up_to: int | None = None, write: Callable[[], None] = lambda: None) -> bool:
        """Move the bookmark and `write` in one transaction; False if another process moved it before."""
        with writing():
            lock_rooms([self.room.pk])
            moved = MOVE.run(
                id=self._bookmark_id,
                read_from=self.read_from,
                revision=self._read_to if up_to is None else up_to,
            )
            is_first = moved == 1
            if is_first:
                write()
            else:
                transaction.set_rollback(True, using=alias())
        return is_first


def changed(room: Any, after: Any, to: Any) -> QuestionQuerySet:
    """Questions of a room whose last change is between these revisions, oldest change first."""
    changed = Question.objects.filter(room=room, revision__gt=after, revision__lte=to)
    return changed.order_by("revision")


def changes_for(reader: str) -> Iterator[RoomChanges]:
    """The changes for this reader: at most one batch for each room that has any."""
    behind = Room.objects.annotate(
        mark=FilteredRelation("bookmarks", condition=Q(bookmarks__reader=reader)),
        mark_id=F("mark__pk"),
        mark_revision=F("mark__revision"),
    ).filter(Q(mark=None) | Q(mark__revision__lt=F("revision")))
    for room in behind:
        bookmark_id, read_from = room.mark_id, room.mark_revision
        if bookmark_id is None:
            with writing():
                bookmark, _ = Bookmark.objects.get_or_create(reader=reader, room=room)
            bookmark_id, read_from = bookmark.pk, bookmark.revision
        # Up to the revision at which the room was read; later changes are in the next batch.
        changes = RoomChanges(room, read_from, room.revision, bookmark_id)
        if room.revision - read_from > BATCH:
            new = changed(room, read_from, room.revision)
            last_of_batch = new.values_list("revision", flat=True)[BATCH - 1 : BATCH]
            changes = replace(changes, _read_to=next(iter(last_of_batch), room.revision))
        yield changes
        yield_to_clicks()
