"""Checks and locks before the site starts. Each problem is reported in one sentence."""

import errno
import fcntl
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import redis
from django.conf import settings
from django.core.management import CommandError
from django.db import DatabaseError, connection

from bridge.private_files import SQLITE_SUFFIXES, make_private, open_private

# Long enough for a server in another data centre, short enough to wait for at a terminal.
CONNECT_TIMEOUT_SECONDS = 5
# Key of a PostgreSQL advisory lock: any number that no other program uses. "askb" in ASCII.
STARTUP_LOCK = 0x61736B62
# The longest that MySQL takes. A process waits for the migrations of another one: longer than any of them.
LONGEST_LOCK_NAME = 64
LOCK_SECONDS = 3600


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to the address and does not listen yet."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise CommandError(f"{host} is no address: set HOST to one of this machine.") from error
    # "localhost" may resolve to ::1 first, and then 127.0.0.1 would not work.
    family, _, _, _, address = min(addresses, key=lambda found: found[0] != socket.AF_INET)
    bound = socket.socket(family, socket.SOCK_STREAM)
    # Connections of the last run in TIME_WAIT must not prevent a restart.
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise CommandError(bind_problem(host, port, error)) from error
    return bound


def bind_problem(host: str, port: int, error: OSError) -> str:
    """Why the address cannot be used, in a sentence that says what to do."""
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is taken: stop the program that uses it, "
            f"or choose another port with PORT={port + 1 if port < 65535 else 8000}."
        )
    if error.errno == errno.EACCES:
        return f"Port {port} needs more permissions than this user has: choose one above 1023 with PORT."
    return f"{host} is no address of this machine: set HOST to one that is, or to 0.0.0.0 for all."


def check_database() -> None:
    """Fail unless the database answers."""
    if problem := database_problem():
        raise CommandError(problem)


def database_problem() -> str | None:
    """Why the database cannot be used, in a sentence that says what to do."""
    try:
        if connection.vendor == "postgresql":
            _connect().close()
        else:
            connection.ensure_connection()
    except (DatabaseError, psycopg.Error) as error:
        return (
            f"{_database_place()} cannot be used ({_reason(error)}): "
            "check that it runs and that DATABASE_URL is right."
        )
    return None


def check_redis() -> None:
    """Fail if REDIS_URL is set and Redis does not answer."""
    if not settings.REDIS_URL:
        return
    client = redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=CONNECT_TIMEOUT_SECONDS)
    try:
        with client:
            client.ping()
    except (redis.RedisError, OSError, ValueError, TypeError) as error:  # TypeError: an unknown ?option=
        place = client.get_connection_kwargs()
        raise CommandError(
            f"Redis at {place['host']}:{place.get('port', 6379)} cannot be used: "
            "check that it runs and that REDIS_URL, with its password, is right."
        ) from error


def make_data_private() -> tuple[str, str]:
    """Make data folder, database and keys private; return a notice about changes and a warning, or ""."""
    private = [settings.DATA_DIR / name for name in ("", "secret-key", "vapid-key", "serve.lock")]
    if connection.vendor == "sqlite":
        private += [Path(f"{connection.settings_dict['NAME']}{suffix}") for suffix in SQLITE_SUFFIXES]
    changed, still_open = (", ".join(map(str, paths)) for paths in make_private(private))
    notice = f"Other users of this machine could read {changed}: from now on only this user can."
    if settings.PRODUCTION and Path(settings.STATIC_ROOT).is_relative_to(settings.DATA_DIR):
        notice += " A proxy that serves the static files needs them elsewhere: set STATIC_DIR."
    warning = (
        f"Other users of this machine can read {still_open}, which cannot be changed from here: let its "
        "owner remove the permissions of all others (chmod go=), or set DATA_DIR to another folder."
    )
    return notice if changed else "", warning if still_open else ""


@contextmanager
def lock_data_folder() -> Iterator[None]:
    """Refuse a second process: SQLite and the in-memory channel layer serve only one."""
    if connection.vendor != "sqlite" and settings.REDIS_URL:
        yield
        return
    with open(settings.DATA_DIR / "serve.lock", "w", opener=open_private) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CommandError(
                f"Ask Bridge already runs on the data in {settings.DATA_DIR}: several processes "
                "need PostgreSQL or MariaDB, and Redis (DATABASE_URL and REDIS_URL)."
            ) from error
        yield  # the system releases the lock with the file, even if the process is killed


@contextmanager
def startup_lock() -> Iterator[None]:
    """Let processes that start together prepare a database server one after the other."""
    # Both servers release the lock with its connection, even if the process is killed.
    if connection.vendor == "postgresql":
        # In a transaction: a lock of the session would stay with a connection of PgBouncer, which
        # other processes share, and which keeps it when this one has ended.
        with _connect() as lock:
            lock.execute("SET LOCAL idle_in_transaction_session_timeout = 0")  # migrations may take long
            lock.execute("SELECT pg_advisory_xact_lock(%s)", [STARTUP_LOCK])
            yield
    elif connection.vendor == "mysql":
        with closing(connection.copy()) as own, own.cursor() as cursor:
            # The name is one for all databases of the server.
            name = f"ask_bridge {connection.settings_dict['NAME']}"[:LONGEST_LOCK_NAME]
            cursor.execute("SELECT GET_LOCK(%s, %s)", [name, LOCK_SECONDS])
            yield
    else:
        yield  # the lock of the data folder is enough


def _connect() -> psycopg.Connection[Any]:
    """Connect without Django, so that the error is PostgreSQL's own."""
    parameters = connection.get_connection_params() | {"connect_timeout": CONNECT_TIMEOUT_SECONDS}
    return psycopg.connect(**parameters)


def _database_place() -> str:
    database = settings.DATABASES["default"]
    if connection.vendor == "postgresql":
        return f"PostgreSQL at {database['HOST'] or 'localhost'}:{database['PORT'] or 5432}"
    if connection.vendor == "mysql":
        return f"MariaDB at {database['HOST'] or 'localhost'}:{database['PORT'] or 3306}"
    return f"The database file {database['NAME']}"


def _reason(error: Exception) -> str:
    if isinstance(error.__cause__, Exception) and len(error.__cause__.args) == 2:
        return str(error.__cause__.args[1])  # MariaDB: number and sentence
    # "connection failed: connection to server at … failed: Connection refused", then hints.
    return str(error).strip().splitlines()[0].rpartition(" failed: ")[2].strip()
