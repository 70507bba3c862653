"""Connection URLs as Django settings: database, channel layer, mail server."""

import hmac
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from bridge.env import text
from bridge.private_files import make_private_file

# Shorter than any proxy's patience: better a clear failure than a page that hangs.
CONNECT_TIMEOUT_SECONDS = 5
# What was sent and not even received by then goes nowhere: the machine or the way to it is gone.
SILENCE_MILLISECONDS = 8_000
# Longer than any transaction of ours takes, even with many writers queueing for the file.
SQLITE_BUSY_TIMEOUT_SECONDS = 20


def database(name: str, default_file: Path) -> dict[str, Any]:
    """SQLite in a file unless the variable names PostgreSQL or another file."""
    url = text(name, f"sqlite:///{default_file}")
    if url.startswith("sqlite:"):
        return _sqlite(name, url)
    if url.startswith(("postgres://", "postgresql://")):
        return _postgres(name, url)
    raise ImproperlyConfigured(
        f"{name} must look like postgres://user:password@host:5432/name or sqlite:////folder/file.sqlite3."
    )


def _sqlite(name: str, url: str) -> dict[str, Any]:
    path = url.removeprefix("sqlite:///")
    if path in {"", url, ":memory:"}:
        raise ImproperlyConfigured(f"{name} must name a file: sqlite:////folder/file.sqlite3.")
    make_private_file(Path(path))  # SQLite would make it readable for all users
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "CONN_MAX_AGE": None,  # opening a file again for each request buys nothing
        "OPTIONS": {
            # WAL: people read while an answer is written. FULL: a 2xx survives a power cut too,
            # for a quarter of a millisecond per commit; NORMAL survives only killed processes.
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
            # Writers queue at BEGIN, where SQLite waits; a later upgrade of a read lock would fail.
            "transaction_mode": "IMMEDIATE",
            "timeout": SQLITE_BUSY_TIMEOUT_SECONDS,
        },
        # Tests use many threads, and one database in memory is not the real thing to them.
        "TEST": {"NAME": f"{path}.test"},
    }


def _postgres(name: str, url: str) -> dict[str, Any]:
    try:
        # Every thread keeps one connection: 13 in all, of PostgreSQL's 100. A pool would only stand
        # between them and a server that is away or back again, with pauses of its own. The check
        # spares people an error page after PostgreSQL was restarted.
        config: dict[str, Any] = {**dj_database_url.parse(url, conn_max_age=None, conn_health_checks=True)}
    except ValueError:
        config = {}
    # An @ in the name is a password with a bare slash: what follows must not reach a message.
    if not config.get("NAME") or "@" in config["NAME"]:
        raise ImproperlyConfigured(
            f"{name} must look like postgres://user:password@host:5432/name "
            "(special characters of the password percent-encoded)."
        )
    config["OPTIONS"] = {
        "connect_timeout": CONNECT_TIMEOUT_SECONDS,
        "tcp_user_timeout": SILENCE_MILLISECONDS,
        **config.get("OPTIONS", {}),
    }
    return config


def channel_layer(name: str, secret_key: str) -> dict[str, Any]:
    """Redis where the variable names one, else the memory of this one process."""
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
    # Of the two Redis layers only this one subscribes again after Redis was restarted. It ignores database
    # numbers, so the prefix tells sites apart that share a Redis: only processes of one site have its key.
    # While a new SECRET_KEY is put in place, old and new processes miss hints and look again instead.
    return {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [url], "prefix": f"ask-bridge-{_digest_of(secret_key)}"},
    }


def _digest_of(secret_key: str) -> str:
    """The same for all processes of a site, and nothing about its key."""
    return hmac.new(secret_key.encode(), b"bridge.channel_layer", "sha256").hexdigest()[:16]


# Scheme, how the connection is protected, and its usual port.
MAIL_SCHEMES = {"smtp": ("", 25), "smtp+tls": ("EMAIL_USE_TLS", 587), "smtps": ("EMAIL_USE_SSL", 465)}
# Longer than any mail server greets; a notice is sent again anyway.
MAIL_TIMEOUT_SECONDS = 10


def mail(name: str) -> dict[str, Any]:
    """Django's settings for the mail server that the variable names; without one nothing is sent."""
    url = text(name)
    if not url:
        return {"EMAIL_BACKEND": "django.core.mail.backends.dummy.EmailBackend"}
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and parts.scheme in MAIL_SCHEMES and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        # Without the value: it may hold a password.
        raise ImproperlyConfigured(
            f"{name} must look like smtp+tls://user:password@host:587 (smtps:// for TLS from the start, "
            "smtp:// for none; special characters of the password percent-encoded)."
        )
    protection, port = MAIL_SCHEMES[parts.scheme]
    return {
        "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": parts.port or port,
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_TIMEOUT": MAIL_TIMEOUT_SECONDS,
        **({protection: True} if protection else {}),
    }
