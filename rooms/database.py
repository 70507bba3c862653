"""Short hops from the event loop to a few threads that talk to the database.

Waits and streams live outside Django's request handling and must hold neither a thread nor a connection
while they sleep. So each of their reads and writes is one hop to this small pool, whose threads keep theirs.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import ParamSpec, TypeVar

from django.db import close_old_connections

from rooms.conf import setting

Params = ParamSpec("Params")
Result = TypeVar("Result")


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(setting("DATABASE_THREADS"), thread_name_prefix="ask-bridge-database")


async def in_database(
    function: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
) -> Result:
    """Run a function that queries the database, without blocking the loop."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_pool(), partial(_with_fresh_connections, function, *args, **kwargs))


def _with_fresh_connections(
    function: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
) -> Result:
    # As Django does around every request: connections that died or grew too old are replaced, and
    # pooled ones go back.
    close_old_connections()
    try:
        return function(*args, **kwargs)
    finally:
        close_old_connections()
