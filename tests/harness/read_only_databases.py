"""Databases that refuse writes: for the connection of this thread, or for a running site."""

import math
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
from django.db import connection
from psycopg import sql

from rooms.db.transactions import last_writes
from tests.harness.databases import name_of_database

READ_ONLY = {
    "sqlite": ("PRAGMA query_only = ON", "PRAGMA query_only = OFF"),
    "postgresql": ("SET default_transaction_read_only = on", "SET default_transaction_read_only = off"),
    "mysql": ("SET SESSION TRANSACTION READ ONLY", "SET SESSION TRANSACTION READ WRITE"),
}
# SQLite's default.
MOST_PAGES = 4294967294


@contextmanager
def read_only() -> Iterator[None]:
    """As after a failover to a standby, or on a file system that was remounted."""
    with _between(*READ_ONLY[connection.vendor]):
        yield


@contextmanager
def full() -> Iterator[None]:
    """SQLite alone: the file may not grow by one more page."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA page_count")
        (pages,) = cursor.fetchone()
    with _between(f"PRAGMA max_page_count = {pages}", f"PRAGMA max_page_count = {MOST_PAGES}"):
        yield


def forget_last_writes() -> None:
    """Reset the times of the last writes."""
    last_writes.written_at = last_writes.refused_at = -math.inf


@contextmanager
def _between(begin: str, end: str) -> Iterator[None]:
    forget_last_writes()
    _execute(begin)
    try:
        yield
    finally:
        _execute(end)
        forget_last_writes()


def _execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def set_read_only(url: str, is_read_only: bool) -> None:
    """Make the database read-only like a standby, and close its connections so that it takes effect."""
    name = name_of_database(url)
    with closing(psycopg.connect(url, autocommit=True)) as admin:
        statement = "ALTER DATABASE {} SET default_transaction_read_only = {}"
        value = sql.Literal("on" if is_read_only else "off")
        admin.execute("SET default_transaction_read_only = off")
        admin.execute(sql.SQL(statement).format(sql.Identifier(name), value))
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> %s",
            [name, admin.info.backend_pid],
        )
