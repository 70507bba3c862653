"""Who did what when: one entry for every change, written in the transaction that makes the change.

So an entry is there if and only if its change is. Nobody changes or removes entries: neither our code nor,
on PostgreSQL, anybody else's. Each carries a keyed hash of itself, which `manage.py verify_audit` checks.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC
from typing import Any, NamedTuple

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import transaction

from rooms.database import alias
from rooms.models import AgentKey, AuditEntry, Membership
from rooms.prepared import insert
from rooms.seals import is_seal_of, seal

Action = AuditEntry.Action

PURPOSE = "ask_bridge.audit"
SEALED_FIELDS = ("id", "room", "action", "actor_type", "actor", "subject", "details")


class Actor(NamedTuple):
    """Whose doing something was: a user name, the label of a key, or no name where nobody gave one."""

    type: AuditEntry.ActorType
    name: str = ""


AGENT = Actor(AuditEntry.ActorType.AGENT)
SYSTEM = Actor(AuditEntry.ActorType.SYSTEM)

Who = AbstractBaseUser | AnonymousUser | AgentKey | None


def actor_of(who: Who, otherwise: Actor = SYSTEM) -> Actor:
    """A person by their login, an agent by its key."""
    match who:
        case None:
            return otherwise
        case AgentKey():
            return Actor(AuditEntry.ActorType.AGENT, who.label)
        case _:
            return Actor(AuditEntry.ActorType.PERSON, who.get_username())


# ---- writing ---------------------------------------------------------------------------------------------


def record(action: AuditEntry.Action, room: str, actor: Actor, subject: str = "", **details: Any) -> None:
    """Write down what this transaction changes."""
    _check_transaction()
    insert(entry(action, room, actor, subject, **details))


def record_all(entries: Iterable[AuditEntry]) -> None:
    """The same for several changes, with one statement."""
    _check_transaction()
    AuditEntry.objects.bulk_create(entries)


def _check_transaction() -> None:
    if not transaction.get_connection(alias()).in_atomic_block:
        raise transaction.TransactionManagementError("An audit entry belongs into the change's transaction.")


def entry(
    action: AuditEntry.Action, room: str, actor: Actor, subject: str = "", **details: Any
) -> AuditEntry:
    """A sealed entry that is not stored yet."""
    return sealed(
        AuditEntry(
            room=room,
            action=action,
            actor_type=actor.type,
            actor=actor.name,
            subject=subject,
            details=details,
        )
    )


def sealed(entry: AuditEntry) -> AuditEntry:
    """The same entry with the hash of all that it says."""
    entry.digest = seal(PURPOSE, sealed_text(entry))
    return entry


def sealed_text(entry: Any) -> str:
    """All that an entry says, in one way only, whichever database it comes from."""
    said = {name: getattr(entry, name) for name in SEALED_FIELDS}
    return json.dumps({**said, "at": entry.at.astimezone(UTC).isoformat()}, sort_keys=True)


def is_intact(entry: AuditEntry) -> bool:
    """Whether it says what it said when it was written."""
    return is_seal_of(PURPOSE, sealed_text(entry), entry.digest)


# ---- members ---------------------------------------------------------------------------------------------

_acting: ContextVar[Who] = ContextVar("ask_bridge_acting", default=None)


@contextmanager
def acting_as(who: Who) -> Iterator[None]:
    """Members who come, go or change meanwhile do so by this person's doing."""
    token = _acting.set(who)
    try:
        yield
    finally:
        _acting.reset(token)


def record_saved_member(instance: Membership, created: bool, raw: bool, **signal: Any) -> None:
    """Listens to saved memberships; a fixture brings entries of its own."""
    if not raw:
        _record_member(Action.MEMBER_ADDED if created else Action.MEMBER_CHANGED, instance)


def record_removed_member(instance: Membership, **signal: Any) -> None:
    """Listens to deleted memberships, also when the room or the user is deleted."""
    _record_member(Action.MEMBER_REMOVED, instance)


def _record_member(action: AuditEntry.Action, membership: Membership) -> None:
    user = membership.user
    # Rooms and users may be renamed; the membership's own id stays.
    named = {"user": user.get_username(), "role": str(membership.role), "membership": membership.pk}
    record(action, membership.room.slug, actor_of(_acting.get()), str(user.pk), **named)
