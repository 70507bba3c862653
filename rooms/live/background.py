"""Background work of a process: what runs every few seconds beside its requests.

Any number of processes may do the same work at once: the statements are conditional, or take leases.
Each duty is implemented in its own feature; here is only when it runs.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from rooms import lifecycle
from rooms.db.pool import in_database
from rooms.history import earlier_answers, writer
from rooms.live import rechecks
from rooms.live.hub import hub
from rooms.notifications import outbox, planner
from rooms.notifications.delivery import DeliveryWorker
from rooms.people import presence

logger = logging.getLogger(__name__)

Duty = Callable[[], Awaitable[None]]


class Background:
    """Runs the duties in the event loop of the server, from `start` to `stop`."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping: asyncio.Future[Any] | None = None
        self._delivery_worker = DeliveryWorker()
        self._duties: list[tuple[float, Duty]] = [
            # A quarter of a second is precise enough for a wait for a person.
            (0.25, self._fire_due),
            # The longest delay after a lost hint; pages have to be up to date again within 5 seconds.
            (2, hub.look_again),
            # A question expires at most a second or two after its deadline.
            (1, self._sweep),
            # Decisions reach the history, and new cards their similar answers, within about a second.
            (1, self._write_history),
            (1, self._recall),
            # A third of the lease, so that one missed renewal does not mark an agent as gone.
            (lifecycle.LEASE_SECONDS / 3, self._renew_leases),
            # Streams and waits that lost their access end within 30 seconds.
            (10, rechecks.recheck_access),
            (1, rechecks.readmit),
            # Well within the lease of people's presence.
            (5, self._update_presence),
            # Push, mail and webhooks may be a few seconds late.
            (2, self._write_notices),
            (2, self._delivery_worker.send_due),
            (3600, self._forget_notices),
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
        ]
        return True

    async def stop(self) -> None:
        """Stop the duties and answer every open connection; a second call waits for the first."""
        if self._stopping is None:
            for task in self._tasks:
                task.cancel()
            self._stopping = asyncio.gather(hub.close(), self._delivery_worker.stop())
        await asyncio.shield(self._stopping)

    async def _every(self, seconds: float, duty: Duty) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await duty()
            except Exception:
                logger.exception("%s failed; again in %g seconds", duty.__name__, seconds)

    async def _fire_due(self) -> None:
        """Tell the connections whose deadline or next keep-alive has come."""
        now = asyncio.get_running_loop().time()
        for connection in [one for one in hub.connections if one.due <= now]:
            connection.on_due()

    async def _sweep(self) -> None:
        await in_database(lifecycle.sweep)

    async def _write_history(self) -> None:
        await in_database(writer.catch_up)

    async def _recall(self) -> None:
        await in_database(earlier_answers.catch_up)

    async def _renew_leases(self) -> None:
        """Renew the leases of all questions that agents wait for here."""
        for key_id in hub.listening_keys():
            await in_database(_renew_leases_of, key_id)
        if question_ids := hub.waited_for():
            await in_database(lifecycle.renew_leases, question_ids)

    async def _update_presence(self) -> None:
        people = {stream.user_id for stream in hub.streams() if stream.many_rooms}
        if people:
            for room, names in await in_database(presence.renew_and_look, people, list(hub.feeds)):
                if room.pk in hub.feeds:
                    hub.feeds[room.pk].push_presence(room.slug, names)

    async def _write_notices(self) -> None:
        await in_database(planner.read)

    async def _forget_notices(self) -> None:
        await in_database(outbox.forget_old)


def _renew_leases_of(key_id: int) -> None:
    lifecycle.renew_leases(lifecycle.asked_with(key_id))


background = Background()
