"""Environment variables as typed values. A wrong value is refused in one sentence that shows no secret."""

import os
import re
import secrets
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from django.core.exceptions import ImproperlyConfigured

from bridge.private_files import FILE_MODE, FOLDER_MODE

# A year: what is meant to last longer is meant to have no limit.
LONGEST_HOURS = 24 * 365


def text(name: str, default: str = "") -> str:
    """The variable without surrounding whitespace; an empty one counts as not set."""
    return os.environ.get(name, "").strip() or default


def flag(name: str) -> bool:
    """True for 1, false for 0 or an unset variable."""
    value = text(name, "0")
    if value not in {"0", "1"}:
        raise ImproperlyConfigured(f"{name} must be 1 or 0, not {value!r}.")
    return value == "1"


def one_of(name: str, choices: list[str]) -> str:
    """One of the choices; the first is the default."""
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


def whole_number(name: str, most: int) -> int:
    """A number from 0, the default, to `most`."""
    value = text(name, "0")
    if not (value.isascii() and value.isdigit() and len(value) < 10 and int(value) <= most):
        raise ImproperlyConfigured(f"{name} must be a number from 0 to {most}, not {value!r}.")
    return int(value)


def comma_list(name: str) -> list[str]:
    """A list of values, separated by commas."""
    return [item.strip() for item in text(name).split(",") if item.strip()]


def hours(name: str, default: int) -> int:
    """A whole number of hours, at least one."""
    value = text(name, str(default))
    if not (value.isascii() and value.isdigit() and 1 <= int(value) <= LONGEST_HOURS):
        raise ImproperlyConfigured(f"{name} must be a number of hours from 1 to {LONGEST_HOURS}.")
    return int(value)


def time_zone(name: str, default: str) -> str:
    """The name of a time zone."""
    value = text(name, default)
    if value not in available_timezones() | {default}:
        raise ImproperlyConfigured(f"{name} must be a time zone such as Europe/Berlin, not {value!r}.")
    return value


def folder(name: str, default: Path) -> Path:
    """A folder; if it is missing, it is created for this user only."""
    path = Path(text(name, str(default))).expanduser().absolute()
    try:
        path.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name} {path} cannot be created ({error.strerror}): choose a folder where this user may write."
        ) from error
    return path


def networks(name: str) -> list[str]:
    """A list of networks, separated by commas."""
    found = comma_list(name)
    for network in found:
        try:
            ip_network(network)
        except ValueError as error:
            raise ImproperlyConfigured(
                f"{name} must name networks such as 10.0.0.0/8, not {network!r}."
            ) from error
    return found


def origin(name: str, default: str) -> str:
    """Scheme and host of a URL, as in the Origin header of browsers."""
    value = text(name, default)
    try:
        parts = urlsplit(value)
        usable = bool(parts.hostname and parts.port != -1) and not (parts.path.strip("/") or parts.query)
    except ValueError:  # also raised for a port that is not a number
        usable = False
    if not usable or parts.scheme not in {"http", "https"} or parts.username is not None:
        raise ImproperlyConfigured(f"{name} must look like https://ask.example.org, without a path.")
    return value.rstrip("/")


def issuer(name: str) -> str:
    """The address of an OpenID provider; without TLS only on this machine."""
    value = text(name)
    if not value:
        return ""
    try:
        parts = urlsplit(value)
        is_local = parts.hostname in {"localhost", "127.0.0.1", "::1"}
        usable = bool(parts.hostname and parts.port != -1) and not (parts.query or parts.fragment)
    except ValueError:
        usable = False
    if not usable or parts.scheme not in ({"https", "http"} if is_local else {"https"}):
        raise ImproperlyConfigured(
            f"{name} must be the https:// address of an OpenID provider, such as https://login.example.org."
        )
    return value.removesuffix("/.well-known/openid-configuration")


def secret_from_file(variable: str, path: Path, size: int = 50) -> str:
    """The secret in a private file, created on first use. Processes that start together agree on it."""
    try:
        if not path.exists():
            draft = path.with_name(f"{path.name}.{os.getpid()}")
            draft.touch(mode=FILE_MODE)
            draft.write_text(secrets.token_urlsafe(size))
            try:
                os.link(draft, path)  # unlike a rename, it never replaces the file of another process
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
    """The private key for web push: 32 random bytes in base64url, created on first use."""
    value = text(name) or secret_from_file(name, default_file, 32)
    if not re.fullmatch("[A-Za-z0-9_-]{43}", value):
        raise ImproperlyConfigured(
            f"{name} must be 43 characters, for example from "
            'python3 -c "import secrets; print(secrets.token_urlsafe(32))".'
        )
    return value
