"""Agent keys: creation, rotation and revocation, and the checks of what a key may read and do."""

import re
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from rooms import audit
from rooms.access.exceptions import (
    BadKey,
    Missing,
    MissingScope,
    NotOwnQuestion,
    NotRotatable,
)
from rooms.access.people import QUESTION
from rooms.audit import Action, actor_of
from rooms.contract.ids import ALPHABET
from rooms.contract.scopes import DEFAULT_SCOPES, Scope, in_order
from rooms.crypto import is_keyed_hash_of, keyed_hash, needs_renewal
from rooms.db import timezone
from rooms.db.compiled import Select
from rooms.db.transactions import lock_rooms, optional_writes, own_rows, writing
from rooms.lifecycle import Person
from rooms.models import (
    AgentKey,
    AgentKeyQuerySet,
    AuditEntry,
    Question,
    Room,
)

KEY_PATTERN = re.compile(r"abk_([0-9a-z]{10})_([0-9a-z]{40})")
LOOKUP_CHARACTERS = 10
SECRET_CHARACTERS = 40  # from an alphabet of 32: 200 bits
KEY_PURPOSE = "ask_bridge.agent_key"
# Avoids a write for every call with the key.
LAST_USED_PRECISION = timedelta(minutes=1)
# Long enough to install the new key on every machine, short enough that the old one is not forgotten there.
OVERLAP = timedelta(days=1)
# The first query of every call of an agent.
KEY = Select(lambda lookup: AgentKey.objects.select_related("room").filter(lookup=lookup))


def create_key(
    room: Room,
    *,
    label: str,
    created_by: Any = None,
    expires_at: datetime | None = None,
    scopes: Iterable[str] = DEFAULT_SCOPES,
) -> tuple[AgentKey, str]:
    """A new key for the room, and its text, which is not stored and cannot be shown again."""
    fields = {"label": label, "created_by": created_by, "expires_at": expires_at}
    with writing():
        lock_rooms([room.pk])
        key, text = _new_key(room, scopes=in_order(scopes), **fields)
        audit.record_all([_key_entry(Action.KEY_CREATED, key, created_by)])
    return key, text


def rotate_key(key: AgentKey, by: Person) -> tuple[AgentKey, str]:
    """A new key that replaces this one, and its text, as in `create_key`; the old one works one more day."""
    with writing():
        old = _locked(AgentKey.objects.all()).get(pk=key.pk)
        last_day = timezone.now() + OVERLAP
        if not old.is_alive or (old.expires_at and old.expires_at <= last_day):
            raise NotRotatable
        # The new key has the same lifetime as the old one.
        lifetime = old.expires_at - old.created_at if old.expires_at else None
        expires_at = timezone.now() + lifetime if lifetime else None
        kept = {"label": old.label, "scopes": old.scopes, "lineage": old.lineage}
        new, text = _new_key(old.room, created_by=by, expires_at=expires_at, **kept)
        AgentKey.objects.filter(pk=old.pk).update(expires_at=last_day)
        audit.record_all(
            [
                _key_entry(Action.KEY_CREATED, new, by),
                _key_entry(Action.KEY_ROTATED, old, by, successor=new.lookup),
            ]
        )
    return new, text


def revoke_keys(keys: Any, by: Person | None = None) -> int:
    """Revoke these keys; returns how many were not revoked before."""
    with writing():
        revoked = list(_locked(AgentKey.objects.filter(pk__in=keys.values("pk"), revoked_at=None)))
        AgentKey.objects.filter(pk__in=[key.pk for key in revoked]).update(revoked_at=timezone.now())
        audit.record_all([_key_entry(Action.KEY_REVOKED, key, by) for key in revoked])
    return len(revoked)


def _locked(keys: AgentKeyQuerySet) -> AgentKeyQuerySet:
    """Locked with `no_key`: otherwise this could deadlock with an ask, which locks the room, then its key."""
    options = own_rows()
    if not options["no_key"]:
        lock_rooms(keys.values_list("room", flat=True))
    return keys.select_for_update(**options).select_related("room")


def _new_key(room: Room, **fields: Any) -> tuple[AgentKey, str]:
    lookup = "".join(secrets.choice(ALPHABET) for _ in range(LOOKUP_CHARACTERS))
    secret = "".join(secrets.choice(ALPHABET) for _ in range(SECRET_CHARACTERS))
    fields = {"lineage": lookup, **fields}
    key = AgentKey.objects.create(room=room, lookup=lookup, digest=keyed_hash(KEY_PURPOSE, secret), **fields)
    return key, f"abk_{lookup}_{secret}"


def _key_entry(action: Action, key: AgentKey, by: Person | None, **details: Any) -> AuditEntry:
    if action == Action.KEY_CREATED:
        details["scopes"] = key.scopes
        if key.expires_at:
            details["expires_at"] = key.expires_at.isoformat()
    return audit.entry(action, key.room, actor_of(by), key.lookup, label=key.label, **details)


def key_from_header(authorization: str) -> AgentKey:
    """The active key in an Authorization header, or BadKey."""
    scheme, _, text = authorization.partition(" ")
    match = KEY_PATTERN.fullmatch(text.strip())
    if scheme.lower() != "bearer" or not match:
        raise BadKey
    lookup, secret = match.groups()
    key = KEY.first(lookup=lookup)
    if key is None or not is_keyed_hash_of(KEY_PURPOSE, secret, key.digest) or not key.is_usable:
        raise BadKey
    now = timezone.now()
    changes: dict[str, Any] = {}
    if key.last_used_at is None or now - key.last_used_at > LAST_USED_PRECISION:
        changes["last_used_at"] = now
    if needs_renewal(KEY_PURPOSE, secret, key.digest):
        # The secret is known only during a call. With this hash the key works without the old SECRET_KEY.
        changes |= {"digest": keyed_hash(KEY_PURPOSE, secret), "last_used_at": now}
    if changes:
        with optional_writes(), writing():
            AgentKey.objects.filter(pk=key.pk).update(**changes)
    return key


def room_of_key(key: AgentKey, slug: str) -> Room:
    """The key's own room, or Missing."""
    if key.room.slug != slug:
        raise Missing
    return key.room


def question_of_key(key: AgentKey, question_id: str) -> Question:
    """A question in the key's room, or Missing."""
    question = QUESTION.first(id=question_id)
    # MariaDB may find it by an id in capitals, which no open connection is registered for.
    if question is None or question.pk != question_id or question.room_id != key.room_id:
        raise Missing
    return question


def check_scope(key: AgentKey, scope: Scope) -> None:
    """Raise MissingScope unless the key has this scope."""
    if not key.has_scope(scope):
        raise MissingScope(scope)


def check_own(key: AgentKey, question: Question) -> None:
    """Raise NotOwnQuestion unless this key asked it, or another key of the same series of rotations."""
    if question.key_id == key.pk:
        return
    same_agent = AgentKey.objects.filter(room=key.room_id, lineage=key.lineage)
    if question.key_id is None or not same_agent.filter(pk=question.key_id).exists():
        raise NotOwnQuestion
