"""Export of the history as a stream: the same search as on the page, written in batches while it is sent.

Neither the rows nor the file are ever in memory as a whole, and no query stays open: each batch is a page of
the search, which begins where the previous one ended.
"""

import json
import time
import weakref
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from queue import SimpleQueue
from typing import Any

from django.core.cache import cache
from django.http import HttpRequest

from rooms import access
from rooms.db.interpreter import yield_to_clicks
from rooms.db.transactions import optional_writes
from rooms.history import search, writer
from rooms.history.index import state_of
from rooms.history.search import Search
from rooms.history.similar import chosen_in
from rooms.models import Question
from rooms.rendering.spreadsheets import UTF8_MARK, csv_lines
from rooms.serializers import Absolute, question_object

# Questions per batch: about a hundred kilobytes, or two megabytes of the largest possible questions.
BATCH = 50
# Per process. An export occupies one of its few threads until the last byte is sent.
EXPORTS_AT_ONCE = 2
# Larger than any history, so that every export is counted exactly.
MOST = 100_000_000

# How often the progress is stored.
PROGRESS_SECONDS = 0.5
# Longer than any export takes.
PROGRESS_KEPT_SECONDS = 3600

CSV_COLUMNS = (
    *("id", "room", "agent", "asked_at_utc", "settled_at_utc", "seconds", "outcome", "via", "person"),
    *("question", "decision", "notes", "reason", "url"),
)

# Each export takes one item and puts it back. A queue instead of a semaphore, because the garbage collector
# may put one back at any moment, and `SimpleQueue.put` is reentrant.
_slots: SimpleQueue[None] = SimpleQueue()
for _ in range(EXPORTS_AT_ONCE):
    _slots.put(None)

Write = Callable[[Iterator[list[Question]], Absolute], Iterator[str]]


class Export:
    """The bytes of a file, produced on demand. The response closes it, also after a part of the file.

    Raises `Empty` if too many exports run. If the tab is closed before the first byte, Django drops the
    response without closing it: so the slot is also released when the export is garbage-collected. It must
    not be part of a reference cycle, which would delay that.
    """

    def __init__(self, request: HttpRequest, write: Write, progress_key: str) -> None:
        _slots.get_nowait()
        self._release_slot = weakref.finalize(self, _slots.put, None)
        self._search = Search.read(request.GET)
        self._progress_key = progress_key
        self._write, self._absolute = write, request.build_absolute_uri
        self._written, self._stored_at = 0, 0.0
        try:
            self._rooms = list(access.visible_rooms(request.user))
            with optional_writes():
                writer.catch_up()
            self._total = search.count(self._search, self._rooms, MOST)
            self._store_progress()
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[bytes]:
        for part in self._write(self._batches(), self._absolute):
            yield part.encode()
            yield_to_clicks()

    def close(self) -> None:
        # A second call does nothing.
        self._release_slot()

    def _batches(self) -> Iterator[list[Question]]:
        before = None
        while True:
            found = search.find(self._search, self._rooms, BATCH, before)
            yield found.questions
            self._written += len(found.questions)
            before = found.next_before
            if before is None:
                break
            if time.monotonic() - self._stored_at > PROGRESS_SECONDS:
                self._store_progress()
        self._written = self._total
        self._store_progress()

    def _store_progress(self) -> None:
        self._stored_at = time.monotonic()
        cache.set(self._progress_key, (self._written, self._total), PROGRESS_KEPT_SECONDS)


def as_json(batches: Iterator[list[Question]], absolute: Absolute) -> Iterator[str]:
    """An array of question objects as in the API."""
    yield "["
    comma = "\n"
    for questions in batches:
        objects = [
            json.dumps(question_object(question, absolute), ensure_ascii=False) for question in questions
        ]
        if objects:
            yield comma + ",\n".join(objects)
            comma = ",\n"
    yield "\n]\n"


def as_csv(batches: Iterator[list[Question]], absolute: Absolute) -> Iterator[str]:
    """A row for each question. The byte order mark tells spreadsheets that this is UTF-8."""
    yield UTF8_MARK + csv_lines([CSV_COLUMNS])
    for questions in batches:
        yield csv_lines([_csv_row(question, absolute) for question in questions])


def _csv_row(question: Question, absolute: Absolute) -> tuple[Any, ...]:
    answer = question.answer_or_none
    choices = answer.choices if answer else []
    settled_at = question.settled_at or question.asked_at
    return (
        question.pk,
        question.room.name,
        question.agent_name,
        _spreadsheet_time(question.asked_at),
        _spreadsheet_time(settled_at),
        round((settled_at - question.asked_at).total_seconds(), 1),
        state_of(question),
        answer.via if answer else "",
        answer.person_name if answer else "",
        "\n".join(prompt["question"] for prompt in question.prompts),
        # One line for each prompt, in the order of the questions.
        "\n".join(chosen_in(choice) for choice in choices),
        "\n".join(filter(None, (choice.get("notes") for choice in choices))),
        answer.reason if answer else "",
        question_object(question, absolute)["url"],
    )


def _spreadsheet_time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
