"""Erasing of deleted words from the full-text index of SQLite and MariaDB.

A row that is deleted from the index is only marked as such, and its words stay. On SQLite merging all
segments drops them; that goes in short steps, between which others write. On MariaDB the table is rebuilt,
and writes to it wait until then: only commands and anonymising do that, the site does not by itself.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import connections

from rooms.db import timezone
from rooms.db.interpreter import yield_to_clicks
from rooms.db.transactions import alias, writing
from rooms.history.index_query import INDEX
from rooms.models import AuditEntry, HistoryEntry

Action = AuditEntry.Action

# What deletes or rewrites entries of the history.
DELETING = (Action.OLD_REMOVED, Action.QUESTION_DELETED, Action.ROOM_DELETED, Action.PERSON_ANONYMISED)
# How often is looked whether something was deleted. A process that runs for less leaves it to the next one.
LOOK_SECONDS = 600
# At most so often: merging rewrites the whole index, which takes seconds for a hundred thousand questions.
ERASE_EVERY = timedelta(hours=6)
# A new process does not know what the last one erased, nor how long the site was stopped.
LOOK_BACK = timedelta(days=7)
# Pages of 4 KB per step: a few milliseconds.
PAGES = 200
# The table is locked for a moment at the end of a rebuild. While that waits for readers, others wait for it.
LOCK_SECONDS = 5


# When this process last erased.
_erased_at: datetime | None = None


def erase_if_needed() -> None:
    """Erase if something was deleted since this process last did, or in the days before it was started."""
    global _erased_at
    if connections[alias()].vendor != "sqlite":
        return
    now = timezone.now()
    if _erased_at and now - _erased_at < ERASE_EVERY:
        return
    since = _erased_at or now - LOOK_BACK
    if AuditEntry.objects.filter(at__gte=since, action__in=DELETING).exists():
        erase()
        _erased_at = now


def erase() -> None:
    """Erase what was deleted so far; PostgreSQL needs nothing."""
    connection = connections[alias()]
    if connection.vendor == "sqlite":
        _merge(connection)
    # A rebuild would commit the transaction of the caller.
    elif connection.vendor == "mysql" and not connection.in_atomic_block:
        _rebuild(connection)


def _merge(connection: Any) -> None:
    """Merge the index step by step until it is one segment."""
    pages, is_done = -PAGES, False  # a negative number begins a merge of all segments
    while not is_done:
        with writing(), connection.cursor() as cursor:
            before = connection.connection.total_changes
            cursor.execute(f"INSERT INTO {INDEX}({INDEX}, rank) VALUES ('merge', %s)", [pages])  # noqa: S608
            is_done = connection.connection.total_changes - before < 2
        pages = PAGES
        yield_to_clicks()


def _rebuild(connection: Any) -> None:
    """Rebuild the table with its index. It needs no more privileges than reading and writing it."""
    table = HistoryEntry._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(f"SET STATEMENT lock_wait_timeout = {LOCK_SECONDS} FOR OPTIMIZE TABLE {table}")
        cursor.fetchall()
