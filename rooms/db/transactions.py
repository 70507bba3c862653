"""Write transactions: the database alias of this app, a lock for SQLite writers, refused writes."""

import math
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar

from django.apps import apps
from django.db import DatabaseError, connections, router, transaction
from django.db.models import Model

Value = TypeVar("Value")

# Small enough that other threads can write between two batches.
LARGEST_BATCH = 256

# SQLite has one writer at a time; the others poll for the lock at growing intervals, and under load some poll
# for seconds. The threads of this process wait for this lock instead, which wakes the next one at once.
_sqlite_writer = threading.Lock()


class Refusal(Enum):
    """Why a database takes no writes while it can be read."""

    READ_ONLY = "read_only"
    FULL = "full"


# SQLSTATE of PostgreSQL: read_only_sql_transaction, disk_full.
POSTGRES_REFUSALS = {"25006": Refusal.READ_ONLY, "53100": Refusal.FULL}
# Primary result codes of SQLite: SQLITE_READONLY, SQLITE_FULL.
SQLITE_REFUSALS = {8: Refusal.READ_ONLY, 13: Refusal.FULL}
# Error numbers of MariaDB: --read-only, a read-only transaction, a read-only InnoDB; disk or table full.
MARIADB_REFUSALS = {
    **dict.fromkeys((1290, 1792, 1836), Refusal.READ_ONLY),
    **dict.fromkeys((1021, 1114), Refusal.FULL),
}


def refusal_of(error: BaseException | None) -> Refusal | None:
    """Why the database refused this write, which then changed nothing; None for every other error."""
    if not isinstance(error, DatabaseError):
        return None
    cause = error.__cause__
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF  # the higher bits say which kind of read-only
    # Both drivers of MariaDB pass (number, message).
    number = cause.args[0] if cause and len(cause.args) == 2 else None
    return (
        POSTGRES_REFUSALS.get(getattr(cause, "sqlstate", None) or "")
        or SQLITE_REFUSALS.get(code)
        or (MARIADB_REFUSALS.get(number) if isinstance(number, int) else None)
    )


@dataclass
class LastWrites:
    """When this process last wrote, and when the database last refused it; by the monotonic clock."""

    written_at: float = -math.inf
    refused_at: float = -math.inf


last_writes = LastWrites()


def alias() -> str:
    """The alias of the database with the tables of this app, as the portal's routers choose it."""
    return router.db_for_write(_room_model())


@cache
def _room_model() -> type[Model]:
    return apps.get_model("ask_bridge", "Room")


@contextmanager
def writing() -> Iterator[None]:
    """A transaction for writes; on SQLite it waits for the other writers of this process first."""
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
    """Writes that a reading request can do without: skipped while the database refuses writes."""
    try:
        yield
    except DatabaseError as error:
        if not refusal_of(error):
            raise


def own_rows() -> dict[str, Any]:
    """Options of `select_for_update` that lock no more than the rows themselves, where the database can.

    `no_key` lets others insert rows that refer to them.
    """
    features = connections[alias()].features
    return {
        "of": ("self",) if features.has_select_for_update_of else (),
        "no_key": features.has_select_for_no_key_update,
    }


def lock_rooms(room_ids: Iterable[int]) -> None:
    """On MariaDB, lock these rooms before rows that refer to them are inserted or locked.

    There an insert locks the rows that its foreign keys name against updates. Two transactions that insert
    into a room first, and take its next revision afterwards, would wait for each other.
    """
    if connections[alias()].vendor == "mysql":
        rooms = _room_model()._default_manager.using(alias()).filter(pk__in=list(room_ids))
        list(rooms.order_by("pk").select_for_update().values_list("pk"))


def is_writing() -> bool:
    """Whether a thread of this process writes to SQLite right now."""
    return _sqlite_writer.locked()


def in_batches(values: Sequence[Value]) -> Iterator[list[Value]]:
    """Batches for `IN (…)`, each padded with repetitions to a power of two.

    A connection keeps one prepared statement per number of parameters: without padding, thousands of open
    waits would make thousands of them.
    """
    for start in range(0, len(values), LARGEST_BATCH):
        batch = list(values[start : start + LARGEST_BATCH])
        size = 1 << (len(batch) - 1).bit_length()
        yield batch + batch[-1:] * (size - len(batch))
