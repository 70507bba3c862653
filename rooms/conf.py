"""Settings of the app: the dictionary `ASK_BRIDGE = {…}`, read at each use and never at import."""

from typing import Any

from django.conf import settings

DEFAULTS: dict[str, Any] = {
    # Per agent key, and messages also per person; far above normal use, low enough to stop a runaway loop.
    "ASKS_PER_MINUTE": 600,
    "MESSAGES_PER_MINUTE": 600,
    # Per person: answers, skips and replies together, ten a second.
    "ANSWERS_PER_MINUTE": 600,
    # Per person, on the Connect page. A person who connects many agents creates one key after the other.
    "KEYS_PER_MINUTE": 60,
    # Per person: test notifications to themselves or to a webhook.
    "TESTS_PER_MINUTE": 10,
    # Per key: asks for people whom the room does not know. A misspelt name is corrected after one or two;
    # more is a program that guesses names.
    "REFUSED_NAMES_PER_MINUTE": 10,
    # Per process. One agent waits for a question; after quick restarts some older connections are still open.
    "WAITS_PER_QUESTION": 100,
    # Per process: event streams and waits for messages. An agent has one; a few agents share a key. Waits for
    # answers are not counted: each needs a question, and one key may serve thousands of agents.
    "LISTENERS_PER_KEY": 100,
    # Per process. A browser has one stream for all its tabs; the limit bounds what a script can keep open.
    "STREAMS_PER_PERSON": 4_000,
    # Open streams go through the portal's middleware again after this time, in case it no longer lets the
    # person in. Their session and their rooms are checked every ten seconds besides.
    "READMIT_SECONDS": 180,
    # The threads that query the database for waits and streams. A job takes about a millisecond, so a few
    # threads serve thousands of open connections. Each may hold one database connection.
    "DATABASE_THREADS": 4,
    # The bearer token that a monitoring system sends for the metrics; without one they are not served.
    "METRICS_TOKEN": "",
    # Scheme and host of the pages, such as "https://ask.example.org": links in mails and webhooks begin with
    # it. Without it neither is sent.
    "ORIGIN": "",
    # Identifies the site to push services: 32 random bytes in base64url. Without it there is no web push, and
    # with another one every device has to be added again. The subject is the contact for push services.
    "VAPID_PRIVATE_KEY": "",
    "VAPID_SUBJECT": "",
    # Private networks that webhooks may reach, such as "10.0.0.0/8".
    "WEBHOOK_ALLOWED_NETWORKS": [],
    # The same for push services, which then need no https: for tests and for closed networks with their own
    # push service. Every user who can sign in can make the site send requests to addresses there.
    "PUSH_ALLOWED_NETWORKS": [],
    # The class that decides who may see, answer and manage; a portal can name a subclass.
    "PERMISSIONS": "rooms.permissions.Permissions",
}


def chosen() -> Any:
    """The dictionary of the portal's settings, unchecked."""
    return getattr(settings, "ASK_BRIDGE", {})


def setting(name: str) -> Any:
    """The portal's value for `name`, else the default."""
    return chosen().get(name, DEFAULTS[name])
