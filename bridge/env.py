"""The environment as settings; a wrong value is refused in one sentence that shows no secret."""

import hmac
import os
import re
import secrets
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from bridge.private_files import FILE_MODE, FOLDER_MODE, make_private_file

# Shorter than any proxy's patience: better a clear failure than a page that hangs.
CONNECT_TIMEOUT_SECONDS = 5
# What was sent and not even received by then goes nowhere: the machine or the way to it is gone.
SILENCE_MILLISECONDS = 8_000
# Longer than any transaction of ours takes, even with many writers queueing for the file.
SQLITE_BUSY_TIMEOUT_SECONDS = 20


def text(name: str, default: str = "") -> str:
    """The variable without surrounding blanks; an empty one counts as not set."""
    return os.environ.get(name, "").strip() or default


def flag(name: str) -> bool:
    """True for 1, false for 0 or nothing."""
    value = text(name, "0")
    if value not in {"0", "1"}:
        raise ImproperlyConfigured(f"{name} must be 1 or 0, not {value!r}.")
    return value == "1"


def one_of(name: str, choices: list[str]) -> str:
    """One of these, the first if nothing was said."""
    value = text(name, choices[0])
    if value not in choices:
        raise ImproperlyConfigured(f"{name} must be {' or '.join(choices)}, not {value!r}.")
    return value


def port(name: str, default: int) -> int:
    """A TCP port from the environment."""
    return port_number(name, text(name, str(default)))


def port_number(name: str, value: str) -> int:
    """A TCP port; 0 lets the system choose a free one."""
    if not (value.isascii() and value.isdigit() and int(value) <= 65535):
        raise ImproperlyConfigured(f"{name} must be a number from 0 to 65535, not {value!r}.")
    return int(value)


def words(name: str) -> list[str]:
    """A list separated by commas."""
    return [word.strip() for word in text(name).split(",") if word.strip()]


def folder(name: str, default: Path) -> Path:
    """A folder, created when it is missing, for this user alone."""
    path = Path(text(name, str(default))).expanduser().absolute()
    try:
        path.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name} {path} cannot be created ({error.strerror}): name a folder that can be."
        ) from error
    return path


def networks(name: str) -> list[str]:
    """A list of networks, separated by commas."""
    for word in words(name):
        try:
            ip_network(word)
        except ValueError as error:
            raise ImproperlyConfigured(
                f"{name} must name networks such as 10.0.0.0/8, not {word!r}."
            ) from error
    return words(name)


def origin(name: str, default: str) -> str:
    """Scheme and host, as browsers say it."""
    value = text(name, default)
    try:
        parts = urlsplit(value)
        usable = bool(parts.hostname and parts.port != -1) and not (parts.path.strip("/") or parts.query)
    except ValueError:  # also for a port that is no number
        usable = False
    if not usable or parts.scheme not in {"http", "https"} or parts.username is not None:
        raise ImproperlyConfigured(f"{name} must look like https://ask.example.org, without a path.")
    return value.rstrip("/")


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


def kept_secret(variable: str, path: Path, size: int = 50) -> str:
    """The secret in a file that only its owner reads; made on first use, even by two at once."""
    try:
        if not path.exists():
            draft = path.with_name(f"{path.name}.{os.getpid()}")
            draft.touch(mode=FILE_MODE)
            draft.write_text(secrets.token_urlsafe(size))
            try:
                os.link(draft, path)  # unlike a rename, never replaces what another process made
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        return path.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"{path} cannot be used ({error.strerror}): set {variable} or make the folder writable."
        ) from error


def push_key(name: str, default_file: Path) -> str:
    """32 random bytes in base64url, which is what push services call a private key; made on first use."""
    value = text(name) or kept_secret(name, default_file, 32)
    if not re.fullmatch("[A-Za-z0-9_-]{43}", value):
        raise ImproperlyConfigured(
            f"{name} must be 43 characters, such as "
            'python3 -c "import secrets; print(secrets.token_urlsafe(32))" makes.'
        )
    return value


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
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.scheme not in {"redis", "rediss"}:
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
