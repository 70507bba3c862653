"""What is logged while the database or the channel layer is away: its begin, its end, and a line a minute."""

import logging
import sqlite3

import psycopg
import pytest
import redis
from django.db import DatabaseError, InterfaceError, OperationalError

from rooms.db import outages
from rooms.db.outages import Outage, WithoutOutages


def caused_by(cause: Exception, kind: type[DatabaseError] = OperationalError) -> DatabaseError:
    """As Django raises it."""
    error = kind(*cause.args)
    error.__cause__ = cause
    return error


def of_sqlite(code: int) -> DatabaseError:
    cause = sqlite3.OperationalError("of SQLite")
    cause.sqlite_errorcode = code
    return caused_by(cause)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Outage:
    """An outage whose end is seen at once."""
    monkeypatch.setattr(outages, "QUIET_SECONDS", 0)
    return Outage("It is away", "It is back")


def test_an_outage_has_one_line_at_its_begin_and_one_at_its_end(
    service: Outage, caplog: pytest.LogCaptureFixture
) -> None:
    service.succeeded()
    for _ in range(3):
        for number in range(100):
            service.failed(f"error\n  {number}")
        for _ in range(3):
            service.succeeded()
    begin, end = "It is away: error 0", "It is back after 0 seconds (100 errors)"
    assert [record.getMessage() for record in caplog.records] == [begin, end] * 3


def test_while_it_lasts_there_is_a_line_from_time_to_time(
    service: Outage, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outages, "REPEAT_SECONDS", 0)
    for _ in range(2):
        service.failed("no reply")
    assert "It is away, for 0 seconds now (2 errors): no reply" in caplog.text


def test_a_success_between_failures_is_not_the_end(caplog: pytest.LogCaptureFixture) -> None:
    service = Outage("It is away", "It is back")
    for _ in range(3):
        service.failed("no reply")
        service.succeeded()
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "error",
    [
        caused_by(psycopg.OperationalError("connection refused")),
        caused_by(psycopg.errors.AdminShutdown("terminating connection")),
        caused_by(psycopg.errors.TooManyConnections("too many clients")),
        InterfaceError("connection already closed"),
        of_sqlite(sqlite3.SQLITE_CANTOPEN),
        OperationalError(1040, "Too many connections"),
        OperationalError(2006, "Server has gone away"),
        OperationalError(5014, "Connection reset"),
    ],
)
def test_a_database_that_is_away_is_an_outage(error: DatabaseError) -> None:
    assert outages.is_unreachable(error)


@pytest.mark.parametrize(
    "error",
    [
        caused_by(psycopg.errors.DeadlockDetected("deadlock")),
        caused_by(psycopg.errors.QueryCanceled("statement timeout")),
        of_sqlite(sqlite3.SQLITE_ERROR),  # a table is missing
        of_sqlite(sqlite3.SQLITE_BUSY),
        OperationalError(1213, "Deadlock found"),
        OperationalError(4161, "Unknown data type"),
        DatabaseError("a mistake"),
        ValueError("a bug"),
    ],
)
def test_what_has_another_reason_keeps_its_traceback(error: Exception) -> None:
    assert not outages.report(error)


def test_errors_of_an_outage_are_not_logged_one_by_one(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("some.portal")
    logger.addFilter(WithoutOutages())  # of a logger or of a handler: the same
    away = caused_by(psycopg.OperationalError("connection refused"))
    logger.error("GET / failed", exc_info=away)
    logger.error("Could not do it: %s", away)
    logger.error("GET / failed", exc_info=ValueError("a bug"))
    assert [record.getMessage() for record in caplog.records] == [
        "The database is out of reach: connection refused",
        "GET / failed",
    ]


def test_the_channel_layer_of_redis_is_not_logged_each_second(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("channels_redis.pubsub")
    logger.addFilter(damped := WithoutOutages())
    try:
        for error in (redis.ConnectionError("refused"), redis.TimeoutError("no reply"), ValueError("a bug")):
            logger.error("Unexpected exception in receive task", exc_info=error)
    finally:
        logger.removeFilter(damped)
    away, bug = [record.getMessage() for record in caplog.records]
    assert "The channel layer is out of reach" in away
    assert bug == "Unexpected exception in receive task"
