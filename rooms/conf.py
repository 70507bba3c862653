"""The one settings dictionary, `ASK_BRIDGE = {…}`, read when it is needed and never at import."""

from typing import Any

from django.conf import settings

DEFAULTS: dict[str, Any] = {
    # Per agent key; generous for any honest agent, low enough to stop a loop that went wrong.
    "ASKS_PER_MINUTE": 600,
    "MESSAGES_PER_MINUTE": 600,
    # The threads that talk to the database for waits and streams. Their work is a millisecond each,
    # so a few serve thousands of sleepers, and each may hold one database connection.
    "DATABASE_THREADS": 4,
}


def setting(name: str) -> Any:
    """The portal's value for `name`, else ours."""
    return getattr(settings, "ASK_BRIDGE", {}).get(name, DEFAULTS[name])
