"""What has to be right before the site starts; whatever is not is told in one sentence."""

import errno
import fcntl
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import redis
from django.conf import settings
from django.core.management import CommandError
from django.db import DatabaseError, connection

from bridge.private_files import BESIDE_SQLITE, make_private, open_private

# Long enough for a server in another data centre, short enough to watch.
CONNECT_TIMEOUT_SECONDS = 5
# Any number that no other program locks in this database will do: "askb" in ASCII.
STARTUP_LOCK = 0x61736B62


def bind(host: str, port: int) -> socket.socket:
    """A socket that holds the address for us, not listening yet."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise CommandError(f"{host} is no address: set HOST to one of this machine.") from error
    # "localhost" may name ::1 first, and then nobody would find us on 127.0.0.1.
    family, _, _, _, address = min(addresses, key=lambda found: found[0] != socket.AF_INET)
    bound = socket.socket(family, socket.SOCK_STREAM)
    # Connections of the last run that linger in the kernel are no reason to refuse a restart.
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise CommandError(why_not_bound(host, port, error)) from error
    return bound


def why_not_bound(host: str, port: int, error: OSError) -> str:
    """The system's refusal in a sentence that says what to do."""
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is taken: stop the program that uses it, "
            f"or choose another port with PORT={port + 1 if port < 65535 else 8000}."
        )
    if error.errno == errno.EACCES:
        return f"Port {port} needs more rights than this user has: choose one above 1023 with PORT."
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
    """Fail if a Redis is named that does not answer."""
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


def keep_other_users_out() -> tuple[str, str]:
    """Make data folder, database and keys private; a sentence about what was open, and what still is."""
    private = [settings.DATA_DIR / name for name in ("", "secret-key", "vapid-key", "serve.lock")]
    if connection.vendor == "sqlite":
        private += [Path(f"{connection.settings_dict['NAME']}{suffix}") for suffix in BESIDE_SQLITE]
    changed, still_open = (", ".join(map(str, paths)) for paths in make_private(private))
    said = f"Other users of this machine could read {changed}: from now on only this user can."
    if settings.PRODUCTION and Path(settings.STATIC_ROOT).is_relative_to(settings.DATA_DIR):
        said += " A proxy that serves the static files needs them elsewhere: set STATIC_DIR."
    warning = (
        f"Other users of this machine can read {still_open}, which cannot be changed from here: let its "
        "owner take the rights of all others away (chmod go=), or name another folder with DATA_DIR."
    )
    return said if changed else "", warning if still_open else ""


@contextmanager
def data_folder_for_us_alone() -> Iterator[None]:
    """Keep a second process off SQLite and off the channel layer in memory."""
    if connection.vendor == "postgresql" and settings.REDIS_URL:
        yield
        return
    with open(settings.DATA_DIR / "serve.lock", "w", opener=open_private) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CommandError(
                f"Ask Bridge already runs on the data in {settings.DATA_DIR}: several processes "
                "need PostgreSQL and Redis (DATABASE_URL and REDIS_URL)."
            ) from error
        yield  # the system lets go of the lock with the file, also when we are killed


@contextmanager
def one_process_at_a_time() -> Iterator[None]:
    """Processes that start together on one PostgreSQL prepare it one after the other."""
    if connection.vendor != "postgresql":  # the data folder is ours alone already
        yield
        return
    with _connect(autocommit=True) as guard:
        guard.execute("SELECT pg_advisory_lock(%s)", [STARTUP_LOCK])
        yield  # closing the connection gives the lock back, also when we are killed


def _connect(**options: Any) -> psycopg.Connection[Any]:
    """A connection of its own, so that the error is PostgreSQL's own."""
    parameters = connection.get_connection_params() | {"connect_timeout": CONNECT_TIMEOUT_SECONDS}
    return psycopg.connect(**parameters, **options)


def _database_place() -> str:
    database = settings.DATABASES["default"]
    if connection.vendor == "postgresql":
        return f"PostgreSQL at {database['HOST'] or 'localhost'}:{database['PORT'] or 5432}"
    return f"The database file {database['NAME']}"


def _reason(error: Exception) -> str:
    # "connection failed: connection to server at … failed: Connection refused", then hints.
    return str(error).strip().splitlines()[0].rpartition(" failed: ")[2].strip()
