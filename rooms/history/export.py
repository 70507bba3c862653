"""The history as a file: the same search as on the page, written batch by batch as it is sent.

Neither the rows nor the file are ever in memory as a whole, and no query stays open: each batch is a page of
the search, which begins where the last one ended.
"""

import json
import re
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from queue import Empty, SimpleQueue
from secrets import token_urlsafe
from typing import Any
from urllib.parse import urlencode

from asgiref.sync import sync_to_async
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from rooms import access
from rooms.contract.spreadsheets import UTF8_MARK, csv_lines
from rooms.db.transactions import optional_writes
from rooms.history import search, writer
from rooms.history.index import state_of
from rooms.history.search import Search
from rooms.history.similar import chosen_in
from rooms.models import Question
from rooms.serializers import Absolute, question_object
from rooms.web import page, surroundings

# A hundred kilobytes, or two megabytes of the largest questions there are: not worth a thought to any memory.
BATCH = 50
# Between two batches, so that whoever clicks goes first: a tenth of what a batch takes.
STEP_ASIDE_SECONDS = 0.001
# Of each process. An export keeps one of its few threads until the last byte is sent.
EXPORTS_AT_ONCE = 2
# For whoever comes third.
BUSY_SECONDS = 30
# More than anybody has: a number that every export is counted up to.
MOST = 100_000_000

PROGRESS_SECONDS = 0.5
# How long somebody may look at a bar that does not move.
PROGRESS_KEPT_SECONDS = 3600
# The page asks so often for an export that has not begun, or whose progress another process keeps to itself.
PROGRESS_TRIES = 5

CSV_COLUMNS = (
    *("id", "room", "agent", "asked_at_utc", "settled_at_utc", "seconds", "outcome", "via", "person"),
    *("question", "decision", "notes", "reason", "url"),
)

# Whoever takes one may run. A queue, because even the garbage collector may put one back at any moment.
_places: SimpleQueue[None] = SimpleQueue()
for _ in range(EXPORTS_AT_ONCE):
    _places.put(None)

Write = Callable[[Iterator[list[Question]], Absolute], Iterator[str]]


# ---- the page --------------------------------------------------------------------------------------------


@page
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    return _export_page(request)


def _export_page(request: HttpRequest, status: int = 200) -> HttpResponse:
    rooms = list(access.visible_rooms(request.user))
    looked = Search.read(request.GET)
    context = {
        **surroundings(request, rooms),
        "page": "history",
        "search": looked,
        "total": search.count(looked, rooms, MOST),
        "parameters": urlencode(looked.as_parameters()),
        "run": token_urlsafe(9),
        "is_busy": status == 503,
    }
    return render(request, "ask_bridge/export.html", context, status=status)


@page
@require_safe
def progress(request: HttpRequest) -> HttpResponse:
    """How far an export of this person is; the page asks for it again until it is done."""
    run = request.GET.get("run", "")
    tries = request.GET.get("tries", "0")
    written, total = cache.get(_progress_key(request, run)) or (None, None)
    context = {
        "run": run,
        "written": written,
        "total": total,
        "is_done": written is not None and written == total,
        "tries": int(tries) + 1 if re.fullmatch(r"[0-9]{1,4}", tries) else 1,
        "most_tries": PROGRESS_TRIES,
    }
    return render(request, "ask_bridge/_export_progress.html", context)


def _progress_key(request: HttpRequest, run: str) -> str:
    """Only who started an export can ask for it: what is named by anybody else is another key."""
    return f"ask_bridge.export.{request.user.pk}.{re.sub('[^-_0-9A-Za-z]', '', run)[:40]}"


# ---- the files -------------------------------------------------------------------------------------------


@page
@require_safe
def export_csv(request: HttpRequest) -> HttpResponseBase:
    return _file(request, "csv", "text/csv; charset=utf-8", _as_csv)


@page
@require_safe
def export_json(request: HttpRequest) -> HttpResponseBase:
    return _file(request, "json", "application/json", _as_json)


def _file(request: HttpRequest, kind: str, content_type: str, write: Write) -> HttpResponseBase:
    try:
        parts = Export(request, write)
    except Empty:
        busy = _export_page(request, status=503)
        busy["Retry-After"] = str(BUSY_SECONDS)
        return busy
    name = f"ask-bridge-history-{timezone.localdate()}.{kind}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return ExportResponse(parts, content_type=content_type, headers=headers)


class ExportResponse(StreamingHttpResponse):
    """Goes out part by part also where Django's ASGI handler would collect all of it in a list first."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parts = iter(self)
        take = sync_to_async(partial(next, parts, None))
        while part := await take():
            yield part


class Export:
    """The bytes of a file, made as they are asked for. Closed by whoever sends them, also halfway.

    Made only where a place is left, and `Empty` is raised otherwise. Where somebody closes the tab before the
    first byte, Django forgets the response without closing it: so the place is also given back when nobody
    holds the export any more. Nothing that it holds may hold it, or that would be only at some later time.
    """

    def __init__(self, request: HttpRequest, write: Write) -> None:
        _places.get_nowait()
        self._give_place_back = weakref.finalize(self, _places.put, None)
        self._search = Search.read(request.GET)
        self._progress_key = _progress_key(request, request.GET.get("run", ""))
        self._write, self._absolute = write, request.build_absolute_uri
        self._written, self._told_at = 0, 0.0
        try:
            self._rooms = list(access.visible_rooms(request.user))
            with optional_writes():
                writer.catch_up()
            self._total = search.count(self._search, self._rooms, MOST)
            self._tell()
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[bytes]:
        for part in self._write(self._batches(), self._absolute):
            yield part.encode()
            time.sleep(STEP_ASIDE_SECONDS)

    def close(self) -> None:
        # Calls of it after the first one do nothing.
        self._give_place_back()

    def _batches(self) -> Iterator[list[Question]]:
        before = None
        while True:
            found = search.find(self._search, self._rooms, BATCH, before)
            yield found.questions
            self._written += len(found.questions)
            before = found.next_before
            if before is None:
                break
            if time.monotonic() - self._told_at > PROGRESS_SECONDS:
                self._tell()
        self._written = self._total
        self._tell()

    def _tell(self) -> None:
        self._told_at = time.monotonic()
        cache.set(self._progress_key, (self._written, self._total), PROGRESS_KEPT_SECONDS)


def _as_json(batches: Iterator[list[Question]], absolute: Absolute) -> Iterator[str]:
    """One array of the question objects that agents know."""
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


def _as_csv(batches: Iterator[list[Question]], absolute: Absolute) -> Iterator[str]:
    """A line for each question. The mark at the beginning tells spreadsheets that this is UTF-8."""
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
        _as_spreadsheets_read_it(question.asked_at),
        _as_spreadsheets_read_it(settled_at),
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


def _as_spreadsheets_read_it(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
