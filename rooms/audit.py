"""Who did what when: one entry for every change, written in the transaction that makes the change.

So an entry is there if and only if its change is. Nobody changes or removes entries: neither our code nor,
on PostgreSQL, anybody else's. Each carries a keyed digest of itself and of what was asked or answered, and
the digest of the entry before it in the same room. `manage.py verify_audit` checks all three.

`Room.audit_head` is the digest of the room's last entry. Every change of a question updates the row of its
room anyway, so that the chain costs these changes no further statement.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import transaction
from django.db.models import F

from rooms.crypto import is_seal_of, seal
from rooms.db.compiled import Update, insert
from rooms.db.transactions import alias
from rooms.models import AgentKey, Answer, AuditEntry, Membership, Question, Room

Action = AuditEntry.Action

PURPOSE = "ask_bridge.audit"
CONTENT_PURPOSE = "ask_bridge.audit.content"
LINK_PURPOSE = "ask_bridge.audit.link"
SEALED_FIELDS = ("id", "room", "action", "actor_type", "actor", "subject", "details")


class Actor(NamedTuple):
    """Whose doing something was: a user name, the label of a key, or no name where nobody gave one."""

    type: AuditEntry.ActorType
    name: str = ""


AGENT = Actor(AuditEntry.ActorType.AGENT)
SYSTEM = Actor(AuditEntry.ActorType.SYSTEM)

# Makes an entry the last one of its room, and returns the digest of the one before. An update sees the old
# values of all columns, whichever it sets first.
CHAINED = {"audit_previous": F("audit_head")}
NEXT_IN_CHAIN = Update(
    lambda id: Room.objects.filter(pk=id), "audit_head", returning=("audit_previous",), **CHAINED
)

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


def record(action: AuditEntry.Action, room: Room, actor: Actor, subject: str = "", **details: Any) -> None:
    """Write down what this transaction changes."""
    record_all([entry(action, room, actor, subject, **details)])


def record_all(entries: Sequence[AuditEntry]) -> None:
    """The same for several changes, with one statement for the entries and one for each room."""
    _check_transaction()
    by_chain: dict[int, list[AuditEntry]] = {}
    for each in entries:
        if each.chain is not None:
            by_chain.setdefault(each.chain, []).append(each)
    # In one order, so that two transactions that lock several rooms never wait for each other.
    for chain, following in sorted(by_chain.items()):
        found = NEXT_IN_CHAIN.first(id=chain, audit_head=following[-1].digest)
        previous = found[0] if found else ""
        for each in following:
            link(each, previous)
            previous = each.digest
    AuditEntry.objects.bulk_create(entries)


def record_next(entry: AuditEntry, previous: str) -> None:
    """One entry of a room whose row this transaction has locked, after the entry with this digest."""
    _check_transaction()
    link(entry, previous)
    insert(entry)


def _check_transaction() -> None:
    if not transaction.get_connection(alias()).in_atomic_block:
        raise transaction.TransactionManagementError("An audit entry belongs into the change's transaction.")


def entry(
    action: AuditEntry.Action, room: Room, actor: Actor, subject: str = "", content: str = "", **details: Any
) -> AuditEntry:
    """A sealed entry that is neither linked nor stored yet; `content` is one of the digests below."""
    return sealed(
        AuditEntry(
            room=room.slug,
            chain=room.pk,
            content=content,
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
    # Older entries, and those of a migration from before the chain, have neither.
    if getattr(entry, "chain", None) is not None:
        said |= {"chain": entry.chain, "content": entry.content}
    return json.dumps({**said, "at": entry.at.astimezone(UTC).isoformat()}, sort_keys=True)


def link(entry: AuditEntry, previous: str) -> None:
    """Put a sealed entry after the one with this digest."""
    entry.previous = previous
    entry.link = seal(LINK_PURPOSE, _linked_text(entry))


def _linked_text(entry: AuditEntry) -> str:
    return f"{entry.previous} {entry.digest}"


def is_intact(entry: AuditEntry) -> bool:
    """Whether it says what it said when it was written, and stands where it stood."""
    is_in_place = entry.chain is None or is_seal_of(LINK_PURPOSE, _linked_text(entry), entry.link)
    return is_in_place and is_seal_of(PURPOSE, sealed_text(entry), entry.digest)


# ---- content ---------------------------------------------------------------------------------------------


# What an agent sent, and what a person or the agent's terminal gave.
ASKED_FIELDS = (
    *("agent_name", "agent_color", "session_id", "tool_use_id"),
    *("prompts", "context", "default_choices", "care"),
)
ANSWER_FIELDS = ("via", "through", "person_name", "choices", "reason", "asks_back")


def asked_content(question: Question) -> str:
    """All that an agent asked, for a digest."""
    said = {name: getattr(question, name) for name in ASKED_FIELDS}
    return _content_text(question, "asked", question.asked_at, **said)


def voted_content(question: Question) -> str:
    """The votes of a careful question as they are after a change, for a digest."""
    return _content_text(question, "voted", None, votes=question.votes or [])


def settled_content(question: Question, status: str, answer: Answer | None) -> str:
    """How a question ended and what was answered, for a digest."""
    given = {name: getattr(answer, name) for name in ANSWER_FIELDS} if answer else {}
    if answer:
        given["username"] = str(answer.username)  # a portal's own users may have numbers for names
    return _content_text(question, status, answer.answered_at if answer else None, answer=given)


def _content_text(question: Question, state: str, at: datetime | None, **said: Any) -> str:
    named = {"question": question.pk, "room": question.room_id, "state": state}
    moment = at.astimezone(UTC).isoformat() if at else None
    return json.dumps({**named, "at": moment, **said}, sort_keys=True)


def content_digest(text: str) -> str:
    return seal(CONTENT_PURPOSE, text)


def is_content(text: str, digest: str) -> bool:
    return is_seal_of(CONTENT_PURPOSE, text, digest)


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
    record(action, membership.room, actor_of(_acting.get()), str(user.pk), **named)
