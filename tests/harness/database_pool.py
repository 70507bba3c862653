"""The threads that talk to the database outlive a test: what they have open must not."""

import asyncio
import threading

from django.db import connections

from rooms.conf import setting
from rooms.database import in_database


async def close_pool_connections() -> None:
    """The whole pool is there, and none of its threads has a connection left."""
    threads = setting("DATABASE_THREADS")
    barrier = threading.Barrier(threads)

    def close() -> None:
        # All at once, so that none does it twice.
        barrier.wait(timeout=10)
        connections.close_all()

    await asyncio.gather(*(in_database(close) for _ in range(threads)))
