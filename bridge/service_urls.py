"""Connection URLs as Django settings: database, channel layer, mail server."""

import hmac
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import dj_database_url
import django
from django.core.exceptions import ImproperlyConfigured

from bridge.env import text
from bridge.private_files import create_private_file

# Shorter than the read timeout of any proxy: a clear error is better than a page that hangs.
CONNECT_TIMEOUT_SECONDS = 5
# For TCP_USER_TIMEOUT: data that is not acknowledged by then means that the server or the network is down.
UNACKNOWLEDGED_MILLISECONDS = 8_000
# Longer than any transaction of Ask Bridge, even with many writers that queue for the file.
SQLITE_BUSY_TIMEOUT_SECONDS = 20


def database(name: str, default_file: Path) -> dict[str, Any]:
    """PostgreSQL, MariaDB, or the SQLite file of the URL; without a URL the default file."""
    url = text(name, f"sqlite:///{default_file}")
    if url.startswith("sqlite:"):
        return _sqlite(name, url)
    if url.startswith(("postgres://", "postgresql://")):
        return _postgres(name, url)
    if url.startswith("mysql://"):
        return _mariadb(name, url)
    raise ImproperlyConfigured(
        f"{name} must look like postgres://user:password@host:5432/name, "
        "mysql://user:password@host:3306/name for MariaDB, or sqlite:////folder/file.sqlite3."
    )


def _sqlite(name: str, url: str) -> dict[str, Any]:
    # Taken literally, not parsed as a URL: the path of DATA_DIR may contain % or ?.
    path = url.removeprefix("sqlite:///")
    if path in {"", url, ":memory:"}:
        raise ImproperlyConfigured(f"{name} must name a file: sqlite:////folder/file.sqlite3.")
    create_private_file(Path(path))  # SQLite would make it readable for all users
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "CONN_MAX_AGE": None,  # reopening the file for each request has no benefit
        "OPTIONS": {
            # WAL: reads go on during a write. FULL: a 2xx also survives a power cut, for a quarter
            # of a millisecond per commit; NORMAL survives only killed processes.
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
            # Writers queue at BEGIN, where SQLite waits. Upgrading a read lock later would fail at once.
            "transaction_mode": "IMMEDIATE",
            "timeout": SQLITE_BUSY_TIMEOUT_SECONDS,
        },
        # A file, because tests use many threads, which an in-memory database does not serve as a file does.
        "TEST": {"NAME": f"{path}.test"},
    }


def _postgres(name: str, url: str) -> dict[str, Any]:
    config = _server(url, f"{name} must look like postgres://user:password@host:5432/name")
    options = config.get("OPTIONS", {})
    # Behind PgBouncer in transaction mode: such a cursor is read after its transaction, from any connection.
    config["DISABLE_SERVER_SIDE_CURSORS"] = bool(options.pop("disable_server_side_cursors", False))
    config["OPTIONS"] = {
        "connect_timeout": CONNECT_TIMEOUT_SECONDS,
        "tcp_user_timeout": UNACKNOWLEDGED_MILLISECONDS,
        **options,
    }
    return config


def _mariadb(name: str, url: str) -> dict[str, Any]:
    _install_mariadb_driver(name)
    config = _server(url, f"{name} must look like mysql://user:password@host:3306/name")
    config["OPTIONS"] = {"connect_timeout": CONNECT_TIMEOUT_SECONDS, **config.get("OPTIONS", {})}
    return config


def _install_mariadb_driver(name: str) -> None:
    """Django's driver is mysqlclient, which has to be compiled; PyMySQL in its place needs no compiler."""
    if find_spec("MySQLdb"):
        return
    try:
        pymysql = import_module("pymysql")
    except ImportError:
        raise ImproperlyConfigured(
            f"{name} needs the package mysqlclient, or PyMySQL: install one."
        ) from None
    pymysql.install_as_MySQLdb()


def _server(url: str, problem: str) -> dict[str, Any]:
    """The settings for the URL of a database server."""
    try:
        # Each thread keeps one connection: 13 per process, of PostgreSQL's 100. A pool would only add
        # its own delays when the server goes down or comes back. The health check avoids an error page
        # after a restart of the server.
        config: dict[str, Any] = {**dj_database_url.parse(url, conn_max_age=None, conn_health_checks=True)}
    except ValueError:
        config = {}
    # An @ in the name means a password with an unencoded slash: the rest of it must not be shown.
    if not config.get("NAME") or "@" in config["NAME"]:
        raise ImproperlyConfigured(f"{problem} (special characters of the password percent-encoded).")
    return config


def channel_layer(name: str, secret_key: str) -> dict[str, Any]:
    """Redis if the variable is set, else an in-memory layer for one process."""
    url = text(name)
    if not url:
        return {"BACKEND": "channels.layers.InMemoryChannelLayer"}
    from redis.asyncio import ConnectionPool  # only sites with Redis pay for this import

    try:
        # The same parser that the channel layer connects with.
        usable = "host" in ConnectionPool.from_url(url).connection_kwargs
    except ValueError:
        usable = False
    if not usable:
        raise ImproperlyConfigured(f"{name} must look like redis://host:6379/0 (rediss:// for TLS).")
    # Of the two Redis layers only this one resubscribes after a restart of Redis. It ignores database
    # numbers, so a prefix separates sites that share a Redis; it depends on the key that only they have.
    # During a change of SECRET_KEY old and new processes miss each other's hints and fall back to polling.
    return {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [url], "prefix": f"ask-bridge-{_digest_of(secret_key)}"},
    }


def _digest_of(secret_key: str) -> str:
    """A digest that is the same for all processes of a site and does not reveal the key."""
    return hmac.new(secret_key.encode(), b"bridge.channel_layer", "sha256").hexdigest()[:16]


# For each scheme the option of Django's backend for its encryption, and its usual port. The parsers of
# dj-email-url and django-environ read smtps:// as STARTTLS and know no default port for it.
MAIL_SCHEMES = {"smtp": ("", 25), "smtp+tls": ("use_tls", 587), "smtps": ("use_ssl", 465)}
# Longer than any mail server needs for its greeting; a failed notification is sent again anyway.
MAIL_TIMEOUT_SECONDS = 10


# The options of Django's mail backend and, before Django 6.1, the settings with their values.
MAIL_SETTINGS = {
    "host": "EMAIL_HOST",
    "port": "EMAIL_PORT",
    "username": "EMAIL_HOST_USER",
    "password": "EMAIL_HOST_PASSWORD",
    "timeout": "EMAIL_TIMEOUT",
    "use_tls": "EMAIL_USE_TLS",
    "use_ssl": "EMAIL_USE_SSL",
}


def mail(name: str) -> dict[str, Any]:
    """Django's settings for the mail server, MAILERS or EMAIL_…; without a URL no mail is sent."""
    options = _mail_options(name)
    backend = f"django.core.mail.backends.{'smtp' if options else 'dummy'}.EmailBackend"
    if django.VERSION >= (6, 1):
        return {"MAILERS": {"default": {"BACKEND": backend, "OPTIONS": options}}}
    return {"EMAIL_BACKEND": backend, **{MAIL_SETTINGS[name]: value for name, value in options.items()}}


def _mail_options(name: str) -> dict[str, Any]:
    url = text(name)
    if not url:
        return {}
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and parts.scheme in MAIL_SCHEMES and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        # The message omits the value, which may contain a password.
        raise ImproperlyConfigured(
            f"{name} must look like smtp+tls://user:password@host:587 (smtps:// for TLS from the start, "
            "smtp:// for none; special characters of the password percent-encoded)."
        )
    encryption, port = MAIL_SCHEMES[parts.scheme]
    return {
        "host": parts.hostname,
        "port": parts.port or port,
        "username": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "timeout": MAIL_TIMEOUT_SECONDS,
        **({encryption: True} if encryption else {}),
    }
