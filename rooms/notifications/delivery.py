"""Sends notices from a process with an event loop: the database in its few threads, the network in others."""

import asyncio
import logging
from contextlib import suppress
from threading import Thread

from django.utils.translation import gettext_noop

from rooms.db.pool import in_database
from rooms.notifications import outbox, safe_http

logger = logging.getLogger(__name__)

# For a whole delivery. `outgoing` ends after 10 seconds by itself, except while the system looks for a host;
# a mail server may say a word now and then. Well before the lease ends.
HAND_SECONDS = 15
TOO_SLOW = gettext_noop("It timed out.")
# A process that stops lets what is on its way arrive, but not for longer than anybody waits for it.
LEAVE_SECONDS = 1


class Courier:
    """One for each process. A slow receiver delays only itself."""

    def __init__(self) -> None:
        self._in_flight: dict[asyncio.Task[None], outbox.Parcel] = {}

    async def go_round(self) -> None:
        """Send what is due, and whatever becomes due meanwhile; returns when nothing is in flight."""
        while True:
            free = outbox.THREADS - len(self._in_flight)
            for parcel in await in_database(outbox.take, free, list(self._in_flight.values())):
                self._in_flight[asyncio.create_task(self._carry(parcel))] = parcel
            if not self._in_flight:
                return
            # As soon as one is over the next begins; nothing waits for those that are slow.
            await asyncio.wait(
                list(self._in_flight),
                timeout=outbox.LOOK_FOR_MORE_SECONDS,
                return_when=asyncio.FIRST_COMPLETED,
            )
            self._in_flight = {task: parcel for task, parcel in self._in_flight.items() if not task.done()}

    async def _carry(self, parcel: outbox.Parcel) -> None:
        try:
            problem = await _in_own_thread(parcel)
            await in_database(outbox.note, parcel, problem)
        except Exception:
            # Its lease runs out, and it is sent again with the same id.
            logger.exception("Could not note what came of notice %s", parcel.notice.pk)

    async def leave(self) -> None:
        """What has not arrived by now is sent again by whoever comes next, with the same id."""
        if self._in_flight:
            await asyncio.wait(list(self._in_flight), timeout=LEAVE_SECONDS)


async def _in_own_thread(parcel: outbox.Parcel) -> Exception | None:
    """Not in a pool: Python would wait for its threads before it ends, however long a receiver takes."""
    loop = asyncio.get_running_loop()
    sent: asyncio.Future[Exception | None] = loop.create_future()

    def tell(problem: Exception | None) -> None:
        if not sent.done():
            sent.set_result(problem)

    def send() -> None:
        problem = outbox.send(parcel)
        with suppress(RuntimeError):  # the process has ended meanwhile
            loop.call_soon_threadsafe(tell, problem)

    Thread(target=send, name="ask-bridge-notices", daemon=True).start()
    try:
        return await asyncio.wait_for(sent, HAND_SECONDS)
    except TimeoutError:
        return safe_http.Unreachable(TOO_SLOW)
