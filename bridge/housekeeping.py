"""Background work of the standalone site: expired sessions are deleted at the start and once a day."""

import asyncio
import logging

from django.contrib.sessions.models import Session
from django.utils import timezone

from rooms.db.pool import in_database
from rooms.db.transactions import writing

logger = logging.getLogger(__name__)

PURGE_EVERY_SECONDS = 24 * 3600
# After a failure: a database that was away is back by then.
PURGE_AGAIN_SECONDS = 3600
# Few enough that no click waits long for its turn to write.
BATCH = 500


class Housekeeping:
    """One task in the loop of the server. Every process may have one: they do not get in each other's way."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(_purge_from_time_to_time())

    def stop(self) -> None:
        if self._task:
            self._task.cancel()


async def _purge_from_time_to_time() -> None:
    while True:
        try:
            while await in_database(purge_sessions):
                pass
            pause_seconds = PURGE_EVERY_SECONDS
        except Exception:
            logger.exception("Expired sessions were not deleted; again in %s seconds", PURGE_AGAIN_SECONDS)
            pause_seconds = PURGE_AGAIN_SECONDS
        await asyncio.sleep(pause_seconds)


def purge_sessions() -> int:
    """Delete a batch of expired sessions; how many."""
    expired = Session.objects.filter(expire_date__lt=timezone.now()).order_by("expire_date")
    with writing():
        # Those that another process deletes right now are left to it.
        keys = list(expired.select_for_update(skip_locked=True).values_list("pk", flat=True)[:BATCH])
        Session.objects.filter(pk__in=keys).delete()
    return len(keys)
