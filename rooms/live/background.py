"""Background work of a process: what runs every few seconds beside its requests, or under WSGI within them.

Any number of processes may do the same work at once: the statements are conditional, or take leases.
Each duty is implemented in its own feature; here is only when it runs.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from django.db import DatabaseError

from rooms import lifecycle
from rooms.db import outages
from rooms.db.pool import in_database
from rooms.history import earlier_answers, erasing, writer
from rooms.live import rechecks
from rooms.live.hub import hub
from rooms.notifications import outbox, planner
from rooms.notifications.delivery import DeliveryWorker
from rooms.people import agents, presence
from rooms.privacy import retention

logger = logging.getLogger(__name__)


def write_history(seconds: float = 0.2) -> None:
    """Write decisions to the history, then look there for what new questions were answered before.

    Each takes at most `seconds`: enough for about fifty questions, and requests keep most of the CPU.
    """
    writer.catch_up(seconds)
    earlier_answers.catch_up(seconds)


# Work in the database, and how often it is done, in seconds.
DATABASE_DUTIES: list[tuple[float, Callable[[], Any]]] = [
    # A question expires at most a second or two after its deadline.
    (1, lifecycle.sweep),
    # Decisions reach the history, and new cards their similar answers, within about a second.
    (1, write_history),
    # Push, mail and webhooks may be a few seconds late. Old notices take only room.
    (2, planner.read),
    (3600, outbox.forget_old),
    # What a room no longer keeps goes within minutes, in rounds of at most a second.
    (60, retention.remove_old),
    (erasing.LOOK_SECONDS, erasing.erase_if_needed),
]


class Background:
    """Runs the duties in the event loop of the server, from `start` to `stop`."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping: asyncio.Future[Any] | None = None
        self._delivery_worker = DeliveryWorker()
        self._duties: list[tuple[float, Callable[[], Awaitable[None]]]] = [
            # A quarter of a second is precise enough for a wait for a person.
            (0.25, self._fire_due),
            # The longest delay after a lost hint; pages have to be up to date again within 5 seconds.
            (2, hub.look_again),
            # A third of the lease, so that one missed renewal does not mark an agent as gone.
            (lifecycle.LEASE_SECONDS / 3, self._renew_leases),
            # Streams and waits that lost their access end within 30 seconds.
            (10, rechecks.recheck_access),
            # Often, so that those that are due at the same time do not come at once.
            (1, rechecks.readmit_due),
            # Well within the lease of people's presence.
            (5, self._update_presence),
            (2, self._delivery_worker.send_due),
        ]

    def start(self) -> bool:
        """Start the duties and the subscription of the hub; False if they run already, or have ended."""
        loop = asyncio.get_running_loop()
        if hub.loop is loop or hub.is_closing:
            return False
        hub.loop = loop
        self._tasks = [
            loop.create_task(hub.listen()),
            *(loop.create_task(self._every(seconds, duty)) for seconds, duty in self._duties),
            *(loop.create_task(self._every(seconds, in_database, work)) for seconds, work in DATABASE_DUTIES),
        ]
        return True

    async def stop(self) -> None:
        """Stop the duties and answer every open connection; a second call waits for the first."""
        if self._stopping is None:
            for task in self._tasks:
                task.cancel()
            self._stopping = asyncio.gather(hub.close(), self._delivery_worker.stop())
        await asyncio.shield(self._stopping)

    async def _every(self, seconds: float, duty: Callable[..., Awaitable[None]], *work: Any) -> None:
        named = (*work, duty)[0]
        while True:
            await asyncio.sleep(seconds)
            try:
                await duty(*work)
                if work:
                    outages.database_replied()
            except Exception as error:
                if not outages.report(error):
                    name = f"{named.__module__}.{named.__qualname__}"
                    logger.exception("%s failed; again in %g seconds", name, seconds)

    async def _fire_due(self) -> None:
        """Tell the connections whose deadline or next keep-alive has come."""
        now = asyncio.get_running_loop().time()
        for connection in [one for one in hub.connections if one.due <= now]:
            connection.on_due()

    async def _renew_leases(self) -> None:
        """Renew the leases of all questions that agents wait for here."""
        if key_ids := hub.listening_keys():
            await in_database(agents.renew_keys, key_ids)
        for key_id in key_ids:
            await in_database(lifecycle.renew_leases_of_key, key_id)
        if question_ids := hub.waited_for():
            await in_database(lifecycle.renew_leases, question_ids)

    async def _update_presence(self) -> None:
        people = {stream.user_id for stream in hub.streams if stream.many_rooms}
        if people:
            for room, names in await in_database(presence.renew_and_look, people, list(hub.feeds)):
                if room.pk in hub.feeds:
                    hub.feeds[room.pk].push_presence(room.slug, *names)


background = Background()

# Under WSGI requests do some of the work: at most so often in each process, however many come.
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
        write_history(READ_SECONDS)
        outages.database_replied()
    except DatabaseError as error:
        # A failed sweep must not fail the request.
        if not outages.report(error):
            logger.warning("Could not sweep; the next request tries again (%s)", error)
