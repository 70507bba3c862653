"""The one settings dictionary, `ASK_BRIDGE = {…}`, read when it is needed and never at import."""

from typing import Any

from django.conf import settings

DEFAULTS: dict[str, Any] = {
    # Per agent key, and messages also per person; generous for anybody honest, low enough to stop a loop that
    # went wrong.
    "ASKS_PER_MINUTE": 600,
    "MESSAGES_PER_MINUTE": 600,
    # Per person: answers, skips and replies together, ten a second.
    "ANSWERS_PER_MINUTE": 600,
    # Per person, on the Connect page. Somebody who connects a fleet of agents makes one after the other.
    "KEYS_PER_MINUTE": 60,
    # In one process. One agent waits for a question, a few more when it was restarted in a hurry.
    "WAITS_PER_QUESTION": 100,
    # In one process. A browser has one stream for all its tabs; the rest bounds what a script can hold open.
    "STREAMS_PER_PERSON": 4_000,
    # The threads that talk to the database for waits and streams. Their work is a millisecond each,
    # so a few serve thousands of sleepers, and each may hold one database connection.
    "DATABASE_THREADS": 4,
    # What a monitoring system has to know to be told figures; without one nobody is.
    "METRICS_TOKEN": "",
    # Who may see, answer and manage: a class with these three questions, the portal's or ours.
    "PERMISSIONS": "rooms.permissions.Permissions",
}


def chosen() -> Any:
    """What the portal's settings say, right or wrong."""
    return getattr(settings, "ASK_BRIDGE", {})


def setting(name: str) -> Any:
    """The portal's value for `name`, else ours."""
    return chosen().get(name, DEFAULTS[name])
