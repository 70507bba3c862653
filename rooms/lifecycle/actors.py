"""Actors: the names of people, keys and the system as they are stored with their changes."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from rooms.audit import Actor
from rooms.models import AuditEntry, Ending
from rooms.profiles import name_of

# The type of `request.user`. Views check the login before they call a verb.
Person = AbstractBaseUser | AnonymousUser

# User names that replace those of anonymised people begin with it; no account has them.
ALIAS_PREFIX = "anonymous-"

# The sender type in the timeline for each actor type of the audit log.
SENDER_TYPES = {
    AuditEntry.ActorType.PERSON: Ending.SenderType.HUMAN,
    AuditEntry.ActorType.AGENT: Ending.SenderType.AGENT,
    AuditEntry.ActorType.SYSTEM: Ending.SenderType.SYSTEM,
}


def ending_by(actor: Actor, person_name: str = "") -> Ending:
    """The ending of a question without an answer, by the person, key or system that ended it."""
    return Ending(sender=person_name or actor.name, sender_type=SENDER_TYPES[actor.type])


def person_fields(user: Person | None) -> dict[str, Any]:
    if user is None:
        return {}
    return {"user_id": user.pk, "username": user.get_username(), "person_name": name_of(user)}
