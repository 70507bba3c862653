"""Delivery worker of a server process: database work in the pool of `in_database`, network in own threads."""

import asyncio
import logging
from contextlib import suppress
from threading import Thread

from django.utils.translation import gettext_noop

from rooms.db.pool import in_database
from rooms.notifications import outbox, safe_http

logger = logging.getLogger(__name__)

# The limit for a whole delivery, well below the lease. `safe_http` ends after 10 seconds, except during a DNS
# lookup; a mail server that sends a byte now and then never times out.
DELIVERY_SECONDS = 15
TOO_SLOW = gettext_noop("It timed out.")
# A stopping process lets deliveries in flight finish, but not for longer than a restart should take.
STOP_SECONDS = 1


class DeliveryWorker:
    """Sends the due notices; one for each process. A slow receiver delays only its own notices."""

    def __init__(self) -> None:
        self._in_flight: dict[asyncio.Task[None], outbox.Delivery] = {}

    async def send_due(self) -> None:
        """Send due notices, also those that become due meanwhile; returns when nothing is in flight."""
        while True:
            free = outbox.THREADS - len(self._in_flight)
            for delivery in await in_database(outbox.claim, free, list(self._in_flight.values())):
                self._in_flight[asyncio.create_task(self._deliver(delivery))] = delivery
            if not self._in_flight:
                return
            # The next one begins as soon as one is finished; slow ones do not hold up the others.
            await asyncio.wait(
                list(self._in_flight),
                timeout=outbox.POLL_SECONDS,
                return_when=asyncio.FIRST_COMPLETED,
            )
            self._in_flight = {
                task: delivery for task, delivery in self._in_flight.items() if not task.done()
            }

    async def _deliver(self, delivery: outbox.Delivery) -> None:
        try:
            problem = await _in_own_thread(delivery)
            await in_database(outbox.record, delivery, problem)
        except Exception:
            # Its lease expires, and it is sent again with the same id.
            logger.exception("Could not record the result of notice %s", delivery.notice.pk)

    async def stop(self) -> None:
        """Wait briefly; unfinished deliveries are repeated by the next process, with the same id."""
        if self._in_flight:
            await asyncio.wait(list(self._in_flight), timeout=STOP_SECONDS)


async def _in_own_thread(delivery: outbox.Delivery) -> Exception | None:
    """Send in a new thread, not in a pool: at exit Python would wait for the pool's threads."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[Exception | None] = loop.create_future()

    def finish(problem: Exception | None) -> None:
        if not result.done():
            result.set_result(problem)

    def send() -> None:
        problem = outbox.send(delivery)
        with suppress(RuntimeError):  # the event loop was closed meanwhile
            loop.call_soon_threadsafe(finish, problem)

    Thread(target=send, name="ask-bridge-notices", daemon=True).start()
    try:
        return await asyncio.wait_for(result, DELIVERY_SECONDS)
    except TimeoutError:
        return safe_http.Unreachable(TOO_SLOW)
