"""Sends notices from a process with an event loop: the database in its few threads, the network in others."""

import asyncio
import logging
from contextlib import suppress
from threading import Thread

from django.utils.translation import gettext_noop

from rooms import outbox, outgoing
from rooms.database import in_database

logger = logging.getLogger(__name__)

# While all that is under way is slow: whether something is due for somebody else.
LOOK_AGAIN_SECONDS = 2
# Nobody can hurry a system that looks for a host, or a mail server that says a word now and then. Before the
# lease ends, so that nobody else has it in hand when it is noted.
HAND_SECONDS = outbox.LEASE.total_seconds() - 5
TOO_SLOW = gettext_noop("It took too long.")
# A process that stops lets what is on its way arrive, but not for longer than anybody waits for it.
LEAVE_SECONDS = 1


class Courier:
    """One for each process. A receiver that is slow holds up nobody but itself."""

    def __init__(self) -> None:
        self._rounds: dict[str, asyncio.Task[None]] = {}

    async def go_round(self) -> None:
        """Send what is due, and whatever becomes due meanwhile; over when every hand is empty."""
        while True:
            under_way = dict(self._rounds)
            free = outbox.THREADS - len(under_way)
            for parcel in await in_database(outbox.take, free, list(under_way)):
                target = parcel.notice.target
                self._rounds[target] = under_way[target] = asyncio.create_task(self._carry(parcel))
            if not under_way:
                return
            # As soon as a hand is empty it takes the next; the others do not wait for those that are slow.
            await asyncio.wait(
                under_way.values(), timeout=LOOK_AGAIN_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )

    async def _carry(self, parcel: outbox.Parcel) -> None:
        try:
            problem = await _in_own_thread(parcel)
            await in_database(outbox.note, parcel, problem)
        except Exception:
            # Its lease runs out, and it is sent again with the same id.
            logger.exception("Could not note what came of notice %s", parcel.notice.pk)
        finally:
            del self._rounds[parcel.notice.target]

    async def leave(self) -> None:
        """What has not arrived by now is sent again by whoever comes next, with the same id."""
        if self._rounds:
            await asyncio.wait(list(self._rounds.values()), timeout=LEAVE_SECONDS)


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
        return outgoing.Unreachable(TOO_SLOW)
