"""Outages in the log: one line when one begins, one a minute while it lasts, one when it is over.

Without this each duty of each second, each probe and each request would log its own traceback.
"""

import logging
import math
import sys
import threading
import time

from django.db import InterfaceError, OperationalError

from rooms.db.transactions import last_writes, refusal_of

logger = logging.getLogger(__name__)

# While it lasts; often enough to see in a log that it does.
REPEAT_SECONDS = 60
# A success counts as the end only this long after the last failure: while a server comes back, connections of
# the time before still fail.
QUIET_SECONDS = 3

# SQLSTATE: connection exceptions, insufficient resources, shutdown and crash.
POSTGRES_OUTAGES = ("08", "53", "57P")
# Primary result codes of SQLite: SQLITE_IOERR, SQLITE_CANTOPEN.
SQLITE_OUTAGES = (10, 14)
# MariaDB: "too many connections", and errors of the client libraries, such as a lost connection. The numbers
# between them are errors of the server: a mistake in a statement.
MARIADB_OUTAGES = {1040, *range(2000, 3000), *range(5000, 6000)}


class Outage:
    """A service that is away, as this process sees it; for all threads."""

    def __init__(self, begin: str, end: str) -> None:
        self._begin, self._end = begin, end
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """As in a new process."""
        self._began_at: float | None = None
        self.failed_at = self._told_at = -math.inf
        self._failures = 0

    def failed(self, problem: object) -> None:
        """Something failed because of this outage: logged the first time, then at most once a minute."""
        now = time.monotonic()
        with self._lock:
            is_new, self.failed_at = self._began_at is None, now
            if self._began_at is None:
                self._began_at, self._failures = now, 0
            self._failures += 1
            if not is_new and now - self._told_at < REPEAT_SECONDS:
                return
            self._told_at = now
            seconds, failures = now - self._began_at, self._failures
        # Without the exception itself: `WithoutOutages` would count it again.
        reason = " ".join(str(problem).split()) or repr(problem)
        if is_new:
            logger.error("%s: %s", self._begin, reason)
        else:
            logger.error("%s, for %.0f seconds now (%d errors): %s", self._begin, seconds, failures, reason)

    def succeeded(self) -> None:
        """The service works: log the end of the outage, if there is one."""
        if self._began_at is None:
            return
        with self._lock:
            if self._began_at is None or time.monotonic() - self.failed_at < QUIET_SECONDS:
                return
            seconds, failures = self.failed_at - self._began_at, self._failures
            self._began_at = None
        logger.warning("%s after %.0f seconds (%d errors)", self._end, seconds, failures)


database = Outage("The database is out of reach", "The database is back")
database_writes = Outage("The database takes no writes", "The database takes writes again")
channel_layer = Outage(
    "The channel layer is out of reach, so that processes look again", "The channel layer is back"
)


def report(error: BaseException | None) -> bool:
    """Whether this error means that the database is away or takes no writes; then the outage is logged."""
    if refusal_of(error):
        database_writes.failed(error)
    elif is_unreachable(error):
        database.failed(error)
    else:
        return False
    return True


def database_replied() -> None:
    """A statement succeeded. That the database takes writes again only a later write has shown."""
    database.succeeded()
    if last_writes.written_at > database_writes.failed_at:
        database_writes.succeeded()


def is_unreachable(error: BaseException | None) -> bool:
    """Whether the database is away; False for every other error, such as a deadlock or a missing table."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    cause = error.__cause__ or error
    if hasattr(cause, "sqlite_errorcode"):
        return cause.sqlite_errorcode & 0xFF in SQLITE_OUTAGES
    if hasattr(cause, "sqlstate"):
        return cause.sqlstate is None or cause.sqlstate.startswith(POSTGRES_OUTAGES)
    code = cause.args[0] if cause.args else None
    return not isinstance(code, int) or code in MARIADB_OUTAGES


def is_redis_unreachable(error: BaseException | None) -> bool:
    """Whether Redis is away; without importing its library, which a portal may not have."""
    if redis := sys.modules.get("redis.exceptions"):
        return isinstance(error, (redis.ConnectionError, redis.TimeoutError, OSError))
    return False


class WithoutOutages(logging.Filter):
    """Filter of a log handler: errors of an outage are counted, and only the outage itself is logged."""

    def filter(self, record: logging.LogRecord) -> bool:
        raised = record.exc_info[1] if record.exc_info else None
        named = record.args if isinstance(record.args, tuple) else ()
        if any(report(error) for error in (raised, *named) if isinstance(error, BaseException)):
            return False
        # The layer itself logs a traceback each second while it cannot receive.
        if record.name.startswith("channels_redis.") and is_redis_unreachable(raised):
            channel_layer.failed(repr(raised))
            return False
        return True
