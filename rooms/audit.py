"""Audit log: one entry per change (who did what when), written in the transaction that makes the change.

So an entry exists if and only if its change does. Entries are append-only: the code never removes one, and
changes only the names of people who are anonymised (`redact`); on PostgreSQL a trigger refuses all else to
every program. Each entry has a keyed digest of itself and of
what was asked or answered, and the digest of the previous entry of its room, so that the entries of a room
form a hash chain. `manage.py verify_audit` checks all three.

`Room.audit_head` is the digest of the room's last entry. Every change of a question updates the row of its
room anyway, so the chain costs these changes no further statement.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import transaction
from django.db.models import F, QuerySet

from rooms.crypto import is_keyed_hash_of, keyed_hash
from rooms.db.compiled import Update, insert
from rooms.db.transactions import alias
from rooms.models import AgentKey, Answer, AuditEntry, GroupMembership, Membership, Question, Room

Action = AuditEntry.Action

PURPOSE = "ask_bridge.audit"
CONTENT_PURPOSE = "ask_bridge.audit.content"
LINK_PURPOSE = "ask_bridge.audit.link"
REDACTION_PURPOSE = "ask_bridge.audit.redaction"
HASHED_FIELDS = ("id", "room", "action", "actor_type", "actor", "subject", "details")


class Actor(NamedTuple):
    """Who made a change: a user name, the label of a key, or an empty name where none is known."""

    type: AuditEntry.ActorType
    name: str = ""


AGENT = Actor(AuditEntry.ActorType.AGENT)
SYSTEM = Actor(AuditEntry.ActorType.SYSTEM)

# Makes an entry the last one of its room, and returns the digest of the previous one. `Update` writes this
# expression before the new head, so it sees the old one on every database.
CHAINED = {"audit_previous": F("audit_head")}
NEXT_IN_CHAIN = Update(
    lambda id: Room.objects.filter(pk=id), "audit_head", returning=("audit_previous",), **CHAINED
)

Who = AbstractBaseUser | AnonymousUser | AgentKey | None


def actor_of(who: Who, otherwise: Actor = SYSTEM) -> Actor:
    """The actor: a person by their user name, an agent by the label of its key."""
    match who:
        case None:
            return otherwise
        case AgentKey():
            return Actor(AuditEntry.ActorType.AGENT, who.label)
        case _:
            return Actor(AuditEntry.ActorType.PERSON, who.get_username())


# ---- writing ---------------------------------------------------------------------------------------------


def record(action: AuditEntry.Action, room: Room, actor: Actor, subject: str = "", **details: Any) -> None:
    """Write an entry for what this transaction changes."""
    record_all([entry(action, room, actor, subject, **details)])


def record_all(entries: Sequence[AuditEntry]) -> None:
    """Write several entries, with one statement for the entries and one for each room."""
    _check_transaction()
    by_chain: dict[int, list[AuditEntry]] = {}
    for each in entries:
        if each.chain is not None:
            by_chain.setdefault(each.chain, []).append(each)
    # Sorted, so that two transactions that lock several rooms cannot deadlock.
    for chain, following in sorted(by_chain.items()):
        found = NEXT_IN_CHAIN.first(id=chain, audit_head=following[-1].digest)
        previous = found[0] if found else ""
        for each in following:
            link(each, previous)
            previous = each.digest
    AuditEntry.objects.bulk_create(entries)


def record_next(entry: AuditEntry, previous: str) -> None:
    """Write an entry of a room whose row this transaction has locked, after the entry with this digest."""
    _check_transaction()
    link(entry, previous)
    insert(entry)


def _check_transaction() -> None:
    if not transaction.get_connection(alias()).in_atomic_block:
        raise transaction.TransactionManagementError("An audit entry belongs into the change's transaction.")


def entry(
    action: AuditEntry.Action, room: Room, actor: Actor, subject: str = "", content: str = "", **details: Any
) -> AuditEntry:
    """An entry with its digest, neither linked nor stored yet; `content` is one of the digests below."""
    return with_digest(
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


def with_digest(entry: AuditEntry) -> AuditEntry:
    """The same entry with the keyed hash of its fields."""
    entry.digest = keyed_hash(PURPOSE, hashed_text(entry))
    return entry


def hashed_text(entry: Any) -> str:
    """The fields of an entry as canonical JSON, the same for every database."""
    fields = {name: getattr(entry, name) for name in HASHED_FIELDS}
    # Entries from before there was a chain, also those that a migration writes, have neither field.
    if getattr(entry, "chain", None) is not None:
        fields |= {"chain": entry.chain, "content": entry.content}
    return json.dumps({**fields, "at": entry.at.astimezone(UTC).isoformat()}, sort_keys=True)


def link(entry: AuditEntry, previous: str) -> None:
    """Chain an entry that has its digest to the entry with the digest `previous`."""
    entry.previous = previous
    entry.link = keyed_hash(LINK_PURPOSE, _linked_text(entry))


def _linked_text(entry: AuditEntry) -> str:
    return f"{entry.previous} {entry.digest}"


def is_intact(entry: AuditEntry) -> bool:
    """Whether its fields and its place in the chain are as they were when it was written."""
    is_in_place = entry.chain is None or is_keyed_hash_of(LINK_PURPOSE, _linked_text(entry), entry.link)
    if entry.redaction:
        return is_in_place and is_keyed_hash_of(REDACTION_PURPOSE, _redacted_text(entry), entry.redaction)
    return is_in_place and is_keyed_hash_of(PURPOSE, hashed_text(entry), entry.digest)


# ---- redacting -------------------------------------------------------------------------------------------

# Stored instead of a digest where the entry was changed before: `verify_audit` goes on reporting it.
NOT_INTACT = "not intact"
REDACTABLE = ("actor", "subject", "details", "content")


def redact(entry: AuditEntry, by: AuditEntry, **fields: Any) -> None:
    """Replace the names in an entry, because the person was anonymised as the entry `by` says.

    The digest of the entry as it was written stays, and with it all links of the chain: a keyed hash, from
    which no name can be read. A second digest covers the entry as it is now.
    """
    _check_transaction()
    was_intact = is_intact(entry)
    for name, value in fields.items():
        setattr(entry, name, value)
    entry.redacted_by = by.pk
    entry.redaction = keyed_hash(REDACTION_PURPOSE, _redacted_text(entry)) if was_intact else NOT_INTACT
    changed = {name: getattr(entry, name) for name in (*REDACTABLE, "redaction", "redacted_by")}
    # Not the manager of the model, which refuses every update.
    QuerySet(AuditEntry, using=alias()).filter(pk=entry.pk).update(**changed)


def _redacted_text(entry: AuditEntry) -> str:
    return f"{entry.digest} {entry.redacted_by} {hashed_text(entry)}"


# ---- content ---------------------------------------------------------------------------------------------


# The fields with a digest: of a question what the agent sent, of an answer what was chosen.
ASKED_FIELDS = (
    *("agent_name", "agent_color", "session_id", "tool_use_id"),
    *("prompts", "context", "default_choices", "care"),
)
ANSWER_FIELDS = ("via", "through", "person_name", "choices", "reason", "asks_back")


TURNING = {Action.VOTED, Action.UNDONE, Action.ESCALATED}
MEMBER_ACTIONS = (Action.MEMBER_ADDED, Action.MEMBER_CHANGED, Action.MEMBER_REMOVED)
SETTLING = {Action.ANSWERED, Action.DECLINED, Action.ASKED_BACK, Action.EXPIRED, Action.WITHDRAWN}


def last_about(entries: Sequence[AuditEntry], actions: Collection[str]) -> AuditEntry | None:
    """Of the entries of a question the one with these actions whose digest covers the current state."""
    found = [entry for entry in entries if entry.action in actions and entry.content]
    return found[-1] if found else None


def asked_content(question: Question) -> str:
    """What an agent asked, as text for a digest."""
    fields = {name: getattr(question, name) for name in ASKED_FIELDS}
    return _content_text(question, "asked", question.asked_at, **fields)


def voted_content(question: Question) -> str:
    """The votes of a careful question as they are after a change, as text for a digest."""
    return _content_text(question, "voted", None, votes=question.votes or [])


def settled_content(question: Question, status: str, answer: Answer | None) -> str:
    """How a question ended and what was answered, as text for a digest."""
    given = {name: getattr(answer, name) for name in ANSWER_FIELDS} if answer else {}
    if answer:
        given["username"] = str(answer.username)  # a portal's user model may have numbers as user names
    return _content_text(question, status, answer.answered_at if answer else None, answer=given)


def _content_text(question: Question, state: str, at: datetime | None, **fields: Any) -> str:
    named = {"question": question.pk, "room": question.room_id, "state": state}
    moment = at.astimezone(UTC).isoformat() if at else None
    return json.dumps({**named, "at": moment, **fields}, sort_keys=True)


def content_digest(text: str) -> str:
    return keyed_hash(CONTENT_PURPOSE, text)


def is_content(text: str, digest: str) -> bool:
    return is_keyed_hash_of(CONTENT_PURPOSE, text, digest)


# ---- members ---------------------------------------------------------------------------------------------

Member = Membership | GroupMembership

_acting: ContextVar[Who] = ContextVar("ask_bridge_acting", default=None)


@contextmanager
def acting_as(who: Who) -> Iterator[None]:
    """Record this person as the actor of all changes of memberships inside the block."""
    token = _acting.set(who)
    try:
        yield
    finally:
        _acting.reset(token)


def record_saved_member(instance: Member, created: bool, raw: bool, **signal: Any) -> None:
    """Receiver of `post_save`; a fixture (`raw`) brings its own entries."""
    if not raw:
        _record_member(Action.MEMBER_ADDED if created else Action.MEMBER_CHANGED, instance)


def record_removed_member(instance: Member, **signal: Any) -> None:
    """Receiver of `post_delete`, which is also sent when the room or the user is deleted."""
    _record_member(Action.MEMBER_REMOVED, instance)


def _record_member(action: AuditEntry.Action, membership: Member) -> None:
    actor = actor_of(_acting.get())
    if isinstance(membership, GroupMembership):
        # Who is in the group is the portal's to record.
        about = {"group": str(membership.group), "group_membership": membership.pk}
        subject = membership.audit_subject
        record(action, membership.room, actor, subject, role=str(membership.role), **about)
        return
    user = membership.user
    # Rooms and users may be renamed; the id of the membership does not change.
    named = {"user": user.get_username(), "role": str(membership.role), "membership": membership.pk}
    record(action, membership.room, actor, str(user.pk), **named)
