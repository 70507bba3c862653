"""Short hops from the event loop to a few threads that talk to the database.

Waits and streams live outside Django's request handling and must hold neither a thread nor a connection
while they sleep. So each of their reads and writes is one hop to this small pool, whose threads keep theirs.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import cache, partial
from typing import ParamSpec, TypeVar

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections, router, transaction
from django.db.models import Model
from django.urls import set_script_prefix
from django.utils.translation import override

from rooms.conf import setting
from rooms.threads import Threads

# What the API says. These threads work for it, too: whatever is for people names its own language.
WIRE_LANGUAGE = "en"

Params = ParamSpec("Params")
Result = TypeVar("Result")
Value = TypeVar("Value")

LARGEST_BATCH = 256

# SQLite takes one writer at a time and lets the others poll for their turn, longer and longer: under load the
# unlucky poll for seconds. Those of this process queue here instead, and the next one is woken at once.
_sqlite_writer = threading.Lock()


class Refusal(Enum):
    """Why a database takes no writes while it can be read."""

    READ_ONLY = "read_only"
    FULL = "full"


# SQLSTATE of PostgreSQL: read_only_sql_transaction, disk_full.
POSTGRES_REFUSALS = {"25006": Refusal.READ_ONLY, "53100": Refusal.FULL}
# Primary result codes of SQLite: SQLITE_READONLY, SQLITE_FULL.
SQLITE_REFUSALS = {8: Refusal.READ_ONLY, 13: Refusal.FULL}


def refusal_of(error: BaseException | None) -> Refusal | None:
    """Why the database refused this write; None for every other error. Nothing was changed then."""
    if not isinstance(error, DatabaseError):
        return None
    cause = error.__cause__
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF  # the rest tells the kind of read-only apart
    return POSTGRES_REFUSALS.get(getattr(cause, "sqlstate", None) or "") or SQLITE_REFUSALS.get(code)


@dataclass
class LastWrites:
    """When this process last wrote, and when the database last refused it; by the monotonic clock."""

    written_at: float = -math.inf
    refused_at: float = -math.inf


last_writes = LastWrites()


def alias() -> str:
    """The database of our tables, wherever the portal's routers keep them."""
    return router.db_for_write(_room_model())


@cache
def _room_model() -> type[Model]:
    return apps.get_model("ask_bridge", "Room")


@contextmanager
def writing() -> Iterator[None]:
    """A transaction that is going to write."""
    name = alias()
    connection = connections[name]
    try:
        if connection.vendor == "sqlite" and not connection.in_atomic_block:
            with _sqlite_writer, transaction.atomic(using=name):
                yield
        else:
            with transaction.atomic(using=name):
                yield
    except DatabaseError as error:
        if refusal_of(error):
            last_writes.refused_at = time.monotonic()
        raise
    last_writes.written_at = time.monotonic()


@contextmanager
def optional_writes() -> Iterator[None]:
    """Writes that a reader can do without: they are left out while the database takes none."""
    try:
        yield
    except DatabaseError as error:
        if not refusal_of(error):
            raise


def is_writing() -> bool:
    """Whether a thread of this process writes to SQLite right now."""
    return _sqlite_writer.locked()


def in_batches(values: Sequence[Value]) -> Iterator[list[Value]]:
    """For `IN (…)`: some at a time, filled up with repetitions to one of a few sizes.

    Every connection keeps what it prepared for each number of parameters, and thousands of sleepers come in
    thousands of numbers. And others get their turn in between.
    """
    for start in range(0, len(values), LARGEST_BATCH):
        batch = list(values[start : start + LARGEST_BATCH])
        size = 1 << (len(batch) - 1).bit_length()
        yield batch + batch[-1:] * (size - len(batch))


@cache
def _threads() -> Threads:
    # Known to each thread by itself: the addresses in a card begin with it.
    prefix = settings.FORCE_SCRIPT_NAME or "/"
    return Threads(setting("DATABASE_THREADS"), "ask-bridge-database", partial(set_script_prefix, prefix))


async def in_database(
    function: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
) -> Result:
    """Run a function that queries the database, without blocking the loop."""
    return await _threads().run(partial(_with_fresh_connections, function, *args, **kwargs))


def _with_fresh_connections(
    function: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
) -> Result:
    # As Django does around every request: connections that died or grew too old are replaced, and
    # pooled ones go back.
    close_old_connections()
    try:
        with override(WIRE_LANGUAGE):
            return function(*args, **kwargs)
    finally:
        close_old_connections()
