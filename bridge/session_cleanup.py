"""Background task that deletes expired sessions, at the start and once a day.

Django's `clearsessions` deletes all of them in one statement, which would block other writers for long.
"""

import asyncio
import logging

from django.contrib.sessions.models import Session
from django.utils import timezone

from rooms.db.pool import in_database
from rooms.db.transactions import writing

logger = logging.getLogger(__name__)

CLEANUP_INTERVAL_SECONDS = 24 * 3600
# After a failure: by then a database that was down is usually back.
RETRY_SECONDS = 3600
# Small enough that other writers do not wait long.
BATCH_SIZE = 500


class SessionCleanup:
    """The cleanup as a task in the server's event loop. It is safe to run one in every process."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(_clean_up_daily())

    def stop(self) -> None:
        if self._task:
            self._task.cancel()


async def _clean_up_daily() -> None:
    while True:
        try:
            while await in_database(delete_expired_sessions):
                pass
            pause_seconds = CLEANUP_INTERVAL_SECONDS
        except Exception:
            logger.exception("Could not delete expired sessions; next attempt in %s seconds", RETRY_SECONDS)
            pause_seconds = RETRY_SECONDS
        await asyncio.sleep(pause_seconds)


def delete_expired_sessions() -> int:
    """Delete one batch of expired sessions; return how many."""
    expired = Session.objects.filter(expire_date__lt=timezone.now()).order_by("expire_date")
    with writing():
        # Skip rows that another process is deleting.
        keys = list(expired.select_for_update(skip_locked=True).values_list("pk", flat=True)[:BATCH_SIZE])
        Session.objects.filter(pk__in=keys).delete()
    return len(keys)
