"""Live updates under WSGI, where no request can wait: pages poll, and requests run the periodic jobs.

Under ASGI the consumers hold the streams, and `background.py` runs the periodic jobs.
"""

import logging
import time
from typing import TYPE_CHECKING, Any

from django.db import DatabaseError
from django.http import HttpResponse

from rooms import lifecycle
from rooms.history import earlier_answers, writer
from rooms.live import events
from rooms.live.consumer import STREAM_HEADERS

if TYPE_CHECKING:
    from rooms.live.streams import StreamGrant

logger = logging.getLogger(__name__)

# Pages have to be up to date within this time; polling more often would only load the workers.
POLL_SECONDS = 5

# At most so often in each process, however many requests come.
SWEEP_SECONDS = 1
# A person waits for the response: read about one batch, and let the next request continue.
READ_SECONDS = 0.01

_swept_at = 0.0


def respond(grant: "StreamGrant") -> HttpResponse:
    """The events since the page's cursors, and when to poll again."""
    frames = events.gone_frames(grant.cursors, grant.rooms)
    for room, since in events.replay_starts(grant.cursors, grant.rooms):
        if since != room.revision:
            frames += events.replay(room, since, [grant.language])[1]
    body = events.encode_frames(frames, grant.user_id, grant.language, grant.many_rooms, grant.standing)
    return HttpResponse(body, headers={**STREAM_HEADERS, "Retry-After": str(POLL_SECONDS)})


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
