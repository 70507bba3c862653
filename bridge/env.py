"""The environment as settings; a wrong value is refused in one sentence that shows no secret."""

import os
import re
import secrets
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from bridge.private_files import FILE_MODE, FOLDER_MODE


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
