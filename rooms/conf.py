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
    # Per person: far more than a team needs in a day.
    "ROOMS_PER_MINUTE": 10,
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
    # Who may create rooms on the page for it: "staff", or "everyone" who can sign in.
    "ROOM_CREATORS": "staff",
    # The portal's page to sign out: a URL name, path or address; empty for the first of the usual names.
    "LOGOUT_URL": "",
    # What that page takes; empty finds out, "none" shows no button.
    "LOGOUT_METHOD": "",
    # For how many days rooms keep settled questions, messages and notifications, unless they have their own
    # number; 0 keeps them forever. What is removed cannot be restored, so nothing is by default.
    "KEEP_DAYS": 0,
    # What stays of a person whose account is deleted: their name in answers, votes, messages and the audit
    # log ("named"), or none anywhere ("anonymous").
    "DELETED_PEOPLE": "named",
    # The class that decides who may see, answer and manage; a portal can name a subclass.
    "PERMISSIONS": "rooms.permissions.Permissions",
    # The model of the user model's groups. Set it before the first migration, like AUTH_USER_MODEL.
    "GROUP_MODEL": "auth.Group",
    # The class that says how people are called and pictured; a portal can name a subclass.
    "PROFILES": "rooms.profiles.Profiles",
}


# The values of the settings that have a few.
CHOICES: dict[str, tuple[str, ...]] = {
    "ROOM_CREATORS": ("staff", "everyone"),
    "LOGOUT_METHOD": ("", "post", "get", "none"),
    "DELETED_PEOPLE": ("named", "anonymous"),
}

# Numbers that may be 0: no limit per minute, and no limit of the age.
MAY_BE_ZERO = ("_PER_MINUTE", "KEEP_DAYS")


def chosen() -> Any:
    """The dictionary of the portal's settings, unchecked."""
    return getattr(settings, "ASK_BRIDGE", {})


def group_model() -> str:
    """The setting GROUP_MODEL. A model reads it when it is imported, as it reads AUTH_USER_MODEL."""
    given = chosen()
    # A value of the wrong kind is reported by the checks, which need models that can be imported.
    named = given.get("GROUP_MODEL") if isinstance(given, dict) else None
    return named if isinstance(named, str) else str(DEFAULTS["GROUP_MODEL"])


def setting(name: str) -> Any:
    """The portal's value for `name`, else the default."""
    return chosen().get(name, DEFAULTS[name])
