"""Background reader that stores similar earlier answers with each new question, for its card to show."""

import time
from typing import Any

from rooms import lifecycle
from rooms.db.interpreter import yield_to_clicks
from rooms.history.similar import Fingerprint, earlier_answers_for
from rooms.history.writer import READER as WRITER
from rooms.models import Bookmark, HistoryEntry
from rooms.timeline.change_feed import BATCH, RoomChanges, changes_for

READER = "memory"

# The time of each run, once a second: enough for about fifty questions, and requests keep most of the CPU.
ROUND_SECONDS = 0.2


def catch_up(seconds: float = ROUND_SECONDS) -> None:
    """Look up earlier answers for new questions of all rooms; start no further lookup after `seconds`."""
    end = time.monotonic() + seconds
    for changes in changes_for(READER):
        _look_up(changes, end)
        if time.monotonic() >= end:
            return


def _look_up(changes: RoomChanges, end: float) -> None:
    # A question is looked up once, so not before the answers that were given before it are in the history.
    written = Bookmark.objects.filter(reader=WRITER, room=changes.room).values_list("revision", flat=True)
    read_to = min(changes.room.revision, written.first() or 0)
    # In a room without history there is nothing to find.
    has_past = HistoryEntry.objects.filter(room=changes.room).exists()
    asked = changes.asked.filter(position__lte=read_to).only("room_id", "prompts", "position")[:BATCH]
    found: dict[str, list[dict[str, Any]]] = {}
    # Many agents often ask the same at the same time: one lookup for all.
    known: dict[Fingerprint, list[dict[str, Any]]] = {}
    for number, question in enumerate(asked if has_past else (), start=1):
        fingerprint = Fingerprint.of_prompts(question.prompts)
        if fingerprint not in known:
            known[fingerprint] = earlier_answers_for(question)
            yield_to_clicks()
        found[question.pk] = known[fingerprint]
        if number == BATCH or time.monotonic() >= end:
            read_to = question.position  # the next round continues after it
            break
    # Not in one transaction: requests that write would wait for all of them. If the process is killed here,
    # some cards lack this hint, which is acceptable.
    if read_to > changes.read_from and changes.commit(read_to):
        for question_id, earlier in found.items():
            if earlier:
                lifecycle.recall(question_id, earlier)
