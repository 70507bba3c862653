"""Readiness of the database: whether it can be reached and written, for probes and logins."""

import logging
import time

from django.apps import apps
from django.db import connections
from django.db.models import F

from rooms.db import outages
from rooms.db.schema import schema
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
        if not outages.report(error):
            logger.exception("The database is out of reach")
        return "cannot_write" if refusal_of(error) else "unreachable"


def version_state() -> dict[str, str]:
    """The member `version` of the reply, only if a newer version has migrated the database.

    As of the last sweep, which looks: a probe needs no statement for it.
    """
    return {"version": "older_than_database"} if schema.was_newer() else {}


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
    # A query of its own: MariaDB takes no LIMIT in a subquery of an update.
    first = bookmarks.order_by("pk").values_list("pk", flat=True).first()
    with writing():
        bookmarks.filter(pk=first or 0).update(revision=F("revision"))
