"""Live updates under WSGI, where no request can wait: pages poll, and requests run the periodic jobs.

Under ASGI `routing.py` takes the addresses of the streams, and the hub runs the periodic jobs.
"""

import logging
import time
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from rooms import access, lifecycle
from rooms.access import locks
from rooms.contract import problems
from rooms.history import earlier_answers, writer
from rooms.live import events, streams
from rooms.live.exchange import STREAM_HEADERS
from rooms.live.hub import SWEEP_SECONDS
from rooms.models import Room

logger = logging.getLogger(__name__)

# Pages have to be up to date within this time; polling more often would only load the workers.
POLL_SECONDS = 5

# A person waits for the response: read about one batch, and let the next request continue.
READ_SECONDS = 0.01

_swept_at = 0.0


@csrf_exempt  # it changes nothing, and EventSource sends no token either
@login_not_required
@require_http_methods(["GET", "POST"])
def stream(request: HttpRequest, room: str = "") -> HttpResponse:
    """The events since the page's cursors, and when to poll again."""
    try:
        events_since = _events_since(request, room or None)
    except access.SignedOut:
        return problems.signed_out().as_response()
    except Http404:
        return problems.not_found().as_response()
    return HttpResponse(events_since, headers={**STREAM_HEADERS, "Retry-After": str(POLL_SECONDS)})


def _events_since(request: HttpRequest, slug: str | None) -> bytes:
    user = request.user
    if not user.is_authenticated or request.GET.get("person", str(user.pk)) != str(user.pk):
        raise access.SignedOut
    rooms = [access.room_for(user, slug)] if slug else list(access.visible_rooms(user))
    language = streams.page_language(request.GET.get("language", ""))
    sent = streams.cursors(request, slug)
    frames: list[events.AnyFrame] = [
        events.room_gone_frame(slug) for slug in sent.keys() - {room.slug for room in rooms}
    ]
    for room, since in streams.replay_starts(sent, rooms):
        frames += _frames(room, since, language)
    return events.encode_frames(frames, user.pk, language, slug is None, locks.standing_of(user, rooms))


def _frames(room: Room, since: int | None, language: str) -> list[events.AnyFrame]:
    if since is None:
        return events.open_frames(room.pk)[1]
    if since < 0:
        return [events.reset_frame(room.slug, room.revision)]
    return events.frames_after(room.pk, since, [language])[1] if since != room.revision else []


def sweep_on_request(**signal: Any) -> None:
    """Sweep, and run the history readers for a short time; at most once a second in each process."""
    global _swept_at
    if time.monotonic() - _swept_at < SWEEP_SECONDS:
        return
    _swept_at = time.monotonic()
    try:
        lifecycle.sweep()
        writer.catch_up(READ_SECONDS)
        earlier_answers.catch_up(READ_SECONDS)
    except DatabaseError as error:
        # A failed sweep must not fail the request.
        logger.warning("Could not sweep; the next request tries again (%s)", error)
