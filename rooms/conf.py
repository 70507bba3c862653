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
    # Per person: notifications that they send to themselves, or to a webhook, to see whether they arrive.
    "TESTS_PER_MINUTE": 10,
    # Per key: asks for people whom the room does not know. A name that was misspelt is put right after one or
    # two; more is a program that tries names out.
    "REFUSED_NAMES_PER_MINUTE": 10,
    # In one process. One agent waits for a question, a few more when it was restarted in a hurry.
    "WAITS_PER_QUESTION": 100,
    # In one process: event streams and waits for messages. An agent has one; a key is shared by a few. Waits
    # for answers are not counted: each needs a question, and one key may well serve thousands of agents.
    "LISTENERS_PER_KEY": 100,
    # In one process. A browser has one stream for all its tabs; the rest bounds what a script can hold open.
    "STREAMS_PER_PERSON": 4_000,
    # The threads that talk to the database for waits and streams. Their work is a millisecond each,
    # so a few serve thousands of sleepers, and each may hold one database connection.
    "DATABASE_THREADS": 4,
    # What a monitoring system has to know to be told figures; without one nobody is.
    "METRICS_TOKEN": "",
    # Scheme and host of the pages as people reach them, such as "https://ask.example.org": links in mails and
    # webhooks begin with it. Without it neither is sent.
    "ORIGIN": "",
    # Proves to push services that we are we: 32 random bytes in base64url. Without it there is no web push,
    # and with another one every device has to be added anew. And whom they may write to about us.
    "VAPID_PRIVATE_KEY": "",
    "VAPID_SUBJECT": "",
    # Where webhooks may go although it is no public address: networks such as "10.0.0.0/8".
    "WEBHOOK_ALLOWED_NETWORKS": [],
    # The same for the push services that browsers name, which then need no https either: for tests and for
    # closed networks with a push service of their own. Whoever may sign in can have us call addresses there.
    "PUSH_ALLOWED_NETWORKS": [],
    # Who may see, answer and manage: a class with these three questions, the portal's or ours.
    "PERMISSIONS": "rooms.permissions.Permissions",
}


def chosen() -> Any:
    """What the portal's settings say, right or wrong."""
    return getattr(settings, "ASK_BRIDGE", {})


def setting(name: str) -> Any:
    """The portal's value for `name`, else ours."""
    return chosen().get(name, DEFAULTS[name])
