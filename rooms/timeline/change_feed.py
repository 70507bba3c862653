"""Those who follow every room in the background, from change to change: history, memory, notifications.

A reader has a bookmark in each room. It reads the questions that changed after it, as they are now, does its
work, and moves the bookmark in the transaction that writes the outcome: so each change is taken once, however
many processes read and wherever one is killed. Asking and answering wait for none of it.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.db.models import F, FilteredRelation, Q

from rooms.db.compiled import Select, Update
from rooms.db.transactions import alias, writing
from rooms.models import Bookmark, Question, QuestionQuerySet, Room

# Few enough that nobody who clicks meanwhile waits long for their turn to write.
BATCH = 100
# Between two rooms: whoever clicks meanwhile waits for a thread that only computes.
STEP_ASIDE_SECONDS = 0.002

MOVE = Update(lambda id, read_from: Bookmark.objects.filter(pk=id, revision=read_from), "revision")


@dataclass(frozen=True)
class News:
    """What is new in one room since a reader was there."""

    room: Room
    _read_from: int
    _read_to: int
    _bookmark_id: int

    @property
    def is_cut(self) -> bool:
        """Whether there is more than one batch of it."""
        return self._read_to < self.room.revision

    def questions(self, select: "Select[Question]") -> list[Question]:
        """A batch of those that changed: what this reader has a use for, selected from `changed`."""
        return select.all(room=self.room.pk, after=self._read_from, to=self._read_to)

    @property
    def asked(self) -> QuestionQuerySet:
        """All that were asked since and are still open, oldest first: each once, whatever changes later."""
        asked = Question.objects.filter(
            room=self.room, position__gt=self._read_from, position__lte=self.room.revision
        )
        return asked.open().order_by("position")

    def take(self, up_to: int | None = None, write: Callable[[], None] = lambda: None) -> bool:
        """Write what came of them, or of all up to a revision; False if another process was first."""
        with writing():
            moved = MOVE.run(
                id=self._bookmark_id,
                read_from=self._read_from,
                revision=self._read_to if up_to is None else up_to,
            )
            is_first = moved == 1
            if is_first:
                write()
            else:
                transaction.set_rollback(True, using=alias())
        return is_first


def changed(room: Any, after: Any, to: Any) -> QuestionQuerySet:
    """Questions of a room whose last change lies between these revisions, oldest change first."""
    changed = Question.objects.filter(room=room, revision__gt=after, revision__lte=to)
    return changed.order_by("revision")


def news_for(reader: str) -> Iterator[News]:
    """What is new for this reader: at most one batch for each room that has any."""
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
        # Up to the revision that the room had when it was read: what changes meanwhile is news again.
        news = News(room, read_from, room.revision, bookmark_id)
        if room.revision - read_from > BATCH:
            new = changed(room, read_from, room.revision)
            last_of_batch = new.values_list("revision", flat=True)[BATCH - 1 : BATCH]
            news = replace(news, _read_to=next(iter(last_of_batch), room.revision))
        yield news
        time.sleep(STEP_ASIDE_SECONDS)
