"""Those who follow every room in the background, from change to change: history, memory, notifications.

A reader has a bookmark in each room. It reads the questions that changed after it, as they are now, does its
work, and moves the bookmark in the transaction that writes the outcome: so each change is taken once, however
many processes read and wherever one is killed. Asking and answering wait for none of it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.db import transaction
from django.db.models import F, FilteredRelation, Q

from rooms.database import alias, writing
from rooms.models import Bookmark, Question, Room

# Few enough that nobody who clicks meanwhile waits long for their turn to write.
BATCH = 100


@dataclass(frozen=True)
class News:
    """Questions of one room that changed since a reader was there, oldest change first."""

    room: Room
    questions: list[Question]
    _bookmark: Bookmark
    _read_to: int

    @property
    def asked(self) -> list[Question]:
        """Those of them that are open and that this reader has never seen before."""
        return [one for one in self.questions if one.is_open and one.position > self._bookmark.revision]

    def take(self, write: Callable[[], None]) -> bool:
        """Write what came of them and move the bookmark; False if another process was first."""
        with writing():
            here = Bookmark.objects.filter(pk=self._bookmark.pk, revision=self._bookmark.revision)
            is_first = here.update(revision=self._read_to) == 1
            if is_first:
                write()
            else:
                transaction.set_rollback(True, using=alias())
        return is_first


def news_for(reader: str) -> Iterator[News]:
    """What is new for this reader: at most one batch for each room that has any."""
    behind = Room.objects.annotate(
        mark=FilteredRelation("bookmarks", condition=Q(bookmarks__reader=reader))
    ).filter(Q(mark=None) | Q(mark__revision__lt=F("revision")))
    for room in behind:
        with writing():
            bookmark, _ = Bookmark.objects.get_or_create(reader=reader, room=room)
        # Up to the revision that the room had when it was read: what changes meanwhile is news again.
        changed = Question.objects.with_answer().filter(
            room=room, revision__gt=bookmark.revision, revision__lte=room.revision
        )
        questions = list(changed.order_by("revision")[:BATCH])
        read_to = questions[-1].revision if len(questions) == BATCH else room.revision
        yield News(room, questions, bookmark, read_to)
