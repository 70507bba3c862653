"""Views of the history export: its page, its progress, and the files as CSV and JSON."""

import re
from collections.abc import AsyncIterator
from functools import partial
from queue import Empty
from secrets import token_urlsafe
from urllib.parse import urlencode

from asgiref.sync import sync_to_async
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from rooms import access
from rooms.db import timezone
from rooms.history import search
from rooms.history.export import MOST, Export, Write, as_csv, as_json
from rooms.history.search import Search
from rooms.web import base_context, page

# Retry-After of an export that is refused because others run.
BUSY_SECONDS = 30
# The page polls so often for an export that has not begun, or whose progress is in another process's cache.
PROGRESS_TRIES = 5


@page
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    return _export_page(request)


def _export_page(request: HttpRequest, status: int = 200) -> HttpResponse:
    rooms = list(access.visible_rooms(request.user))
    criteria = Search.read(request.GET)
    context = {
        **base_context(request, rooms),
        "rail_place": "history",
        "search": criteria,
        "total": search.count(criteria, rooms, MOST),
        "parameters": urlencode(criteria.as_parameters()),
        "run": token_urlsafe(9),
        "is_busy": status == 503,
    }
    return render(request, "ask_bridge/export.html", context, status=status)


@page
@require_safe
def progress(request: HttpRequest) -> HttpResponse:
    """The progress of an export of this person; the page polls until it is done."""
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
    """Contains the user, so that a person can only see the progress of their own exports."""
    return f"ask_bridge.export.{request.user.pk}.{re.sub('[^-_0-9A-Za-z]', '', run)[:40]}"


# ---- files -----------------------------------------------------------------------------------------------


@page
@require_safe
def export_csv(request: HttpRequest) -> HttpResponseBase:
    return _file(request, "csv", "text/csv; charset=utf-8", as_csv)


@page
@require_safe
def export_json(request: HttpRequest) -> HttpResponseBase:
    return _file(request, "json", "application/json", as_json)


def _file(request: HttpRequest, kind: str, content_type: str, write: Write) -> HttpResponseBase:
    try:
        parts = Export(request, write, _progress_key(request, request.GET.get("run", "")))
    except Empty:
        busy = _export_page(request, status=503)
        busy["Retry-After"] = str(BUSY_SECONDS)
        return busy
    name = f"ask-bridge-history-{timezone.localdate()}.{kind}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return ExportResponse(parts, content_type=content_type, headers=headers)


class ExportResponse(StreamingHttpResponse):
    """Streams also under ASGI, where Django would collect a synchronous iterator in a list first."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parts = iter(self)
        next_part = sync_to_async(partial(next, parts, None))
        while part := await next_part():
            yield part
