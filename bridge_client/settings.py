"""Settings of this machine: from flags, else from the environment, else from the config file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from bridge_client.errors import SettingsError

VARIABLES = {"url": "ASK_BRIDGE_URL", "key": "ASK_BRIDGE_KEY", "room": "ASK_BRIDGE_ROOM"}
MEANINGS = {
    "url": "the bridge's address",
    "key": "an agent key (from the room's Connect page)",
    "room": "the room to ask in",
}
# The care of every question that has none of its own. A JSON object, so it is not a flag.
CARE_VARIABLE = "ASK_BRIDGE_CARE"
# The prefix of every agent key. It catches a password or a web page that was pasted by mistake.
KEY_PREFIX = "abk_"


@dataclass(frozen=True)
class Settings:
    """The address of a bridge, an agent key, a room, and the care of its questions."""

    url: str
    key: str = field(repr=False)
    room: str
    care: Mapping[str, Any] | None = None

    @property
    def is_encrypted(self) -> bool:
        return self.url.startswith("https:")

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""


def config_path(environ: Mapping[str, str]) -> str:
    """The config file."""
    if environ.get("ASK_BRIDGE_CONFIG"):
        return environ["ASK_BRIDGE_CONFIG"]
    folder = environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(folder, "ask-bridge", "config.json")


def load(
    url: str | None = None,
    key: str | None = None,
    room: str | None = None,
    *,
    config: str | None = None,
    environ: Mapping[str, str] | None = None,
    needs_room: bool = True,
) -> Settings:
    """The settings from arguments, else environment, else file; SettingsError names what is missing."""
    environ = os.environ if environ is None else environ
    given = {"url": url, "key": key, "room": room}
    found = {name: (given[name] or environ.get(VARIABLES[name]) or "").strip() for name in VARIABLES}
    care = _care_from_text(environ.get(CARE_VARIABLE, ""))
    path = config or config_path(environ)
    # A missing file is an error only if it was named explicitly.
    is_named = bool(config or environ.get("ASK_BRIDGE_CONFIG"))
    # Read the file for the care alone as well: without it questions would get less care than was set up.
    is_needed = care is None or not all(found.values())
    if is_needed and (is_named or os.path.exists(path)):
        stored = _read(path)
        found = {name: found[name] or _text(stored, name, path) for name in VARIABLES}
        if care is None and stored.get("care") is not None:
            care = _checked_care(stored["care"], f'"care" in {path}')
    missing = [name for name in VARIABLES if not found[name] and (needs_room or name != "room")]
    if missing:
        raise SettingsError(_missing_sentence(missing, path))
    return Settings(
        url=_checked_url(found["url"]), key=_checked_key(found["key"]), room=found["room"], care=care
    )


def check(url: str | None = None, key: str | None = None, room: str | None = None) -> None:
    """Raise SettingsError for a value that cannot be right; missing values are not checked."""
    if url:
        _checked_url(url)
    if key:
        _checked_key(key)


def store(settings: Mapping[str, str], path: str) -> None:
    """Add these to the file, readable by its owner only."""
    stored = _read(path) if os.path.exists(path) else {}
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"Cannot store the key in {path}: {error.strerror}") from None
    temporary = f"{path}.{os.getpid()}"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(json.dumps({**stored, **settings}, indent=2) + "\n")
    os.replace(temporary, path)


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            # Windows has no such modes; its profile folder is private.
            if os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077:
                raise SettingsError(f"Other people can read {path}, which may hold a key: chmod 600 {path}")
            stored = json.load(file)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not JSON"
        raise SettingsError(f"Cannot read {path}: {reason}") from None
    if not isinstance(stored, dict):
        raise SettingsError(f'{path} has to be a JSON object such as {{"url": …, "key": …, "room": …}}')
    return stored


def _text(stored: Mapping[str, Any], name: str, path: str) -> str:
    value = stored.get(name) or ""
    if not isinstance(value, str):
        raise SettingsError(f'"{name}" in {path} has to be a string')
    return value.strip()


def _care_from_text(text: str) -> dict[str, Any] | None:
    if not text.strip():
        return None
    try:
        care = json.loads(text)
    except (ValueError, RecursionError):
        care = None
    return _checked_care(care, CARE_VARIABLE)


def _checked_care(care: Any, name: str) -> dict[str, Any]:
    """The care if it is an object; the bridge checks its contents."""
    if not isinstance(care, dict):
        raise SettingsError(f'{name} has to be a JSON object such as {{"votes": 2, "undo_seconds": 10}}')
    return care


def _missing_sentence(names: list[str], path: str) -> str:
    wanted = " and ".join(f"{MEANINGS[name]} (--{name} or {VARIABLES[name]})" for name in names)
    return f"Missing: {wanted}. {path} can hold them as well."


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is not a number, a bracket that is not closed
        is_usable = False
    if not is_usable:
        raise SettingsError("The bridge's address has to look like https://portal.example.org/ask")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise SettingsError("The bridge's address takes no user, password, ? or #; log in with the key")
    return url.rstrip("/")


def _checked_key(key: str) -> str:
    # This also keeps line breaks out of the Authorization header.
    if not key.startswith(KEY_PREFIX) or not key.isascii() or not key.replace("_", "").isalnum():
        raise SettingsError(f"The agent key does not look like one: it begins with {KEY_PREFIX}")
    return key
