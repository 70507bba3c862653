"""Readiness of the database: whether it can be reached and written, for probes and logins."""

import logging
import time

from django.apps import apps
from django.db import connections
from django.db.models import F

from rooms.db.transactions import alias, is_writing, last_writes, refusal_of, writing

logger = logging.getLogger(__name__)

# Probes come about every second: the outcome of a write that is at most this old still counts.
RECENT_SECONDS = 5


def database_state() -> str:
    """The state of the database: `ok`, `cannot_write` or `unreachable`."""
    try:
        with connections[alias()].cursor() as cursor:
            cursor.execute("SELECT 1")
        return "ok" if _takes_writes() else "cannot_write"
    except Exception as error:
        if refusal_of(error):
            logger.error("The database refuses writes: %s", error)
            return "cannot_write"
        logger.exception("The database is out of reach")
        return "unreachable"


def _takes_writes() -> bool:
    now = time.monotonic()
    # Checked first: on a full disk small writes may still succeed between larger ones that fail.
    if now - last_writes.refused_at < RECENT_SECONDS:
        return False
    # A write to SQLite in progress may take long, and is as good a sign as a write made here.
    if now - last_writes.written_at >= RECENT_SECONDS and not is_writing():
        check_write()
    return True


def check_write() -> None:
    """Commit an update that changes nothing; raises the error of the database.

    It is committed because a full disk causes no error before that.
    """
    bookmarks = apps.get_model("ask_bridge", "Bookmark").objects
    first = bookmarks.order_by("pk").values("pk")[:1]
    with writing():
        bookmarks.filter(pk__in=first).update(revision=F("revision"))
