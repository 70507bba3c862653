"""The database thread pool: its threads outlive a test, their connections must not."""

import asyncio
import threading

from django.db import connections

from rooms.conf import setting
from rooms.db.pool import in_database


async def close_pool_connections() -> None:
    """Start all threads of the pool, and close the connection of each."""
    threads = setting("DATABASE_THREADS")
    barrier = threading.Barrier(threads)

    def close() -> None:
        # All at the same time, so that each thread closes its own.
        barrier.wait(timeout=10)
        connections.close_all()

    await asyncio.gather(*(in_database(close) for _ in range(threads)))
