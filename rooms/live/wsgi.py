"""Periodic work under WSGI, where no process runs in the background: requests do it."""

import logging
import time
from typing import Any

from django.db import DatabaseError

from rooms import lifecycle
from rooms.history import earlier_answers, writer

logger = logging.getLogger(__name__)

# At most so often in each process, however many requests come.
SWEEP_SECONDS = 1
# A person waits for the response: read about one batch, and let the next request continue.
READ_SECONDS = 0.01

_swept_at = 0.0


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
