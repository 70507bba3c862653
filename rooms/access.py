"""Who may see and do what: people by login and membership, agents by key. Foreign looks like missing."""

import re
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user, get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.expressions import Combinable
from django.http import Http404, HttpRequest
from django.utils import timezone

from rooms import audit, rates
from rooms.audit import Action, actor_of
from rooms.care import Care
from rooms.database import optional_writes, writing
from rooms.fields import FieldError, InvalidPayload
from rooms.ids import ALPHABET
from rooms.lifecycle import Person, name_of
from rooms.models import (
    AgentKey,
    AgentKeyQuerySet,
    Answer,
    AuditEntry,
    Membership,
    Message,
    Question,
    Room,
    RoomQuerySet,
)
from rooms.permissions import permissions
from rooms.prepared import Select
from rooms.scopes import DEFAULT_SCOPES, Scope, in_order
from rooms.seals import is_seal_of, needs_renewal, seal

KEY_PATTERN = re.compile(r"abk_([0-9a-z]{10})_([0-9a-z]{40})")
LOOKUP_CHARACTERS = 10
SECRET_CHARACTERS = 40  # of 32 letters: 200 bits
KEY_PURPOSE = "ask_bridge.agent_key"
# A key in steady use is not written to for every call.
LAST_USED_PRECISION = timedelta(minutes=1)
# Time to put the new key in place on every machine, and short enough that the old one is not forgotten there.
OVERLAP = timedelta(days=1)

# A room has a few. Pages name three and count the others.
MOST_MANAGERS = 100


# What every call of an agent and every click begins with.
KEY = Select(lambda lookup: AgentKey.objects.select_related("room").filter(lookup=lookup))
QUESTION = Select(lambda id: Question.objects.with_answer().filter(pk=id))


class Missing(Exception):
    """Not there, or not for this key: the same to the caller."""


class SignedOut(Exception):
    """A page's session is over."""


class BadKey(Exception):
    """No key, a wrong key, a revoked or an expired one: all the same to the caller."""


class MayNotAnswer(Exception):
    """Somebody who may see a room, but neither decide nor write in it."""


class MissingScope(Exception):
    """A key may not do this: it was made without the scope."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(f"needs the scope {scope.value}")
        self.scope = scope


class NotOwnQuestion(Exception):
    """A key may read this question, but another one asked it."""


class NotRotatable(Exception):
    """A key that is dead, or has less time left than its rotation would give it."""


# ---- people ----------------------------------------------------------------------------------------------


def visible_rooms(user: Person) -> RoomQuerySet:
    """The rooms that this person may see."""
    if not user.is_authenticated or not user.is_active:
        return Room.objects.none()
    return permissions().visible_rooms(user, Room.objects.active())


def may_see(user: Person, room: Room) -> bool:
    """Whether this is one of them."""
    if not user.is_authenticated or not user.is_active or room.archived_at:
        return False
    return permissions().may_see(user, room)


def room_for(user: Person, slug: str) -> Room:
    """The room, or 404 as if it did not exist."""
    room = visible_rooms(user).filter(slug=slug).first()
    if room is None:
        raise Http404("There is no such room.")
    return room


def question_for(user: Person, slug: str, question_id: str) -> Question:
    """The question in that room, or 404 as if it did not exist."""
    question = QUESTION.first(id=question_id)
    if question is None or question.room.slug != slug or not may_see(user, question.room):
        raise Http404("There is no such question.")
    return question


def check_named(room: Room, care: Care | None) -> None:
    """Raise InvalidPayload if this names somebody who cannot answer in the room."""
    people = care.people if care else []
    if people:
        users = get_user_model()._default_manager.all()
        if name := _first_who_cannot_answer(room, people, users):
            message = f'"{name}" is nobody who can answer in this room; give a user name of one of its people'
            raise InvalidPayload([FieldError(field="care", message=message)])


def check_named_by_key(key: AgentKey, care: Care | None) -> None:
    """The same for names that an agent gives: it can only name people whom the room knows.

    Every other name is refused alike and with the same work, whether an account has it or not. Otherwise a
    key of an open room could find out the accounts of the whole site.
    """
    people = care.people if care else []
    if not people:
        return
    rates.check_refused_names(key)
    users = get_user_model()._default_manager.all()
    if permissions().knows_by_membership:
        users = users.filter(_is_known_in(key.room))
    if name := _first_who_cannot_answer(key.room, people, users):
        rates.note_refused_name(key)
        message = (
            f'"{name}" cannot be named here; give the user name of a member of this room, '
            "or of a person who has answered or written in it"
        )
        raise InvalidPayload([FieldError(field="care", message=message)])


def _is_known_in(room: Room) -> Combinable:
    """Members, and those whose names the room's timeline has already."""
    return (
        Exists(Membership.objects.filter(room=room, user=OuterRef("pk")))
        | Exists(Answer.objects.filter(room=room, user=OuterRef("pk")))
        | Exists(Message.objects.filter(room=room, user=OuterRef("pk")))
    )


def _first_who_cannot_answer(room: Room, people: list[str], users: QuerySet[Any]) -> str | None:
    by_name = {f"{users.model.USERNAME_FIELD}__in": people}
    found = {user.get_username(): user for user in users.filter(**by_name)}
    for name in people:
        user = found.get(name)
        if user is None or not may_see(user, room) or not permissions().may_answer(user, room):
            return name
    return None


def person_to_answer_for(room: Room, username: str) -> AbstractBaseUser:
    """The person with this name; raises InvalidPayload if they cannot answer in the room, or do not exist."""
    users = get_user_model()._default_manager
    user = users.filter(**{users.model.USERNAME_FIELD: username}).first()
    if user is None or not may_see(user, room) or not permissions().may_answer(user, room):
        message = "is not a person who can answer in this room; give the user name of one who can"
        raise InvalidPayload([FieldError(field="by", message=message)])
    return user


def check_may_answer(user: Person, room: Room) -> None:
    """Raise MayNotAnswer to somebody who may only look."""
    if not may_answer(user, room):
        raise MayNotAnswer


def may_answer(user: Person, room: Room) -> bool:
    """Whether this person may decide and write in a room that they see."""
    return user.is_authenticated and permissions().may_answer(user, room)


def may_manage(user: Person, room: Room) -> bool:
    """Whether this person may create the room's keys."""
    return user.is_authenticated and permissions().may_manage(user, room)


def manager_names(room: Room) -> list[str]:
    """Who looks after the room, for all who see it."""
    managers = permissions().managers(room)[:MOST_MANAGERS]
    return sorted((name_of(user) for user in managers if user.is_active), key=str.casefold)


def user_of_session(session_key: str | None) -> Person:
    """The signed-in user behind a session cookie, as Django's own middleware would find them."""
    request = HttpRequest()
    engine = import_module(settings.SESSION_ENGINE)
    request.session = engine.SessionStore(session_key)
    return get_user(request)


# ---- agents ----------------------------------------------------------------------------------------------


def create_key(
    room: Room,
    *,
    label: str,
    created_by: Any = None,
    expires_at: datetime | None = None,
    scopes: Iterable[str] = DEFAULT_SCOPES,
) -> tuple[AgentKey, str]:
    """A new key for the room and its text, which is nowhere stored and cannot be shown again."""
    fields = {"label": label, "created_by": created_by, "expires_at": expires_at}
    with writing():
        key, text = _new_key(room, scopes=in_order(scopes), **fields)
        audit.record_all([_key_entry(Action.KEY_CREATED, key, created_by)])
    return key, text


def rotate_key(key: AgentKey, by: Person) -> tuple[AgentKey, str]:
    """A new key in place of this one and its text, as for `create_key`; the old one works one more day."""
    with writing():
        old = _locked(AgentKey.objects.all()).get(pk=key.pk)
        last_day = timezone.now() + OVERLAP
        if not old.is_alive or (old.expires_at and old.expires_at <= last_day):
            raise NotRotatable
        # A key that was made for a time is followed by one for the same time.
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
    """Stop these keys for good; how many were still there to be stopped."""
    with writing():
        stopped = list(_locked(AgentKey.objects.filter(pk__in=keys.values("pk"), revoked_at=None)))
        AgentKey.objects.filter(pk__in=[key.pk for key in stopped]).update(revoked_at=timezone.now())
        audit.record_all([_key_entry(Action.KEY_REVOKED, key, by) for key in stopped])
    return len(stopped)


def _locked(keys: AgentKeyQuerySet) -> AgentKeyQuerySet:
    """Locked with `no_key`: an ask refers to its key while it holds the lock that the audit waits for."""
    return keys.select_for_update(of=("self",), no_key=True).select_related("room")


def _new_key(room: Room, **fields: Any) -> tuple[AgentKey, str]:
    lookup = "".join(secrets.choice(ALPHABET) for _ in range(LOOKUP_CHARACTERS))
    secret = "".join(secrets.choice(ALPHABET) for _ in range(SECRET_CHARACTERS))
    fields = {"lineage": lookup, **fields}
    key = AgentKey.objects.create(room=room, lookup=lookup, digest=seal(KEY_PURPOSE, secret), **fields)
    return key, f"abk_{lookup}_{secret}"


def _key_entry(action: Action, key: AgentKey, by: Person | None, **details: Any) -> AuditEntry:
    if action == Action.KEY_CREATED:
        details["scopes"] = key.scopes
        if key.expires_at:
            details["expires_at"] = key.expires_at.isoformat()
    return audit.entry(action, key.room, actor_of(by), key.lookup, label=key.label, **details)


def key_from_header(authorization: str) -> AgentKey:
    """The living key in an Authorization header, or BadKey."""
    scheme, _, text = authorization.partition(" ")
    match = KEY_PATTERN.fullmatch(text.strip())
    if scheme.lower() != "bearer" or not match:
        raise BadKey
    lookup, secret = match.groups()
    key = KEY.first(lookup=lookup)
    if key is None or not is_seal_of(KEY_PURPOSE, secret, key.digest) or not key.is_usable:
        raise BadKey
    now = timezone.now()
    changes: dict[str, Any] = {}
    if key.last_used_at is None or now - key.last_used_at > LAST_USED_PRECISION:
        changes["last_used_at"] = now
    if needs_renewal(KEY_PURPOSE, secret, key.digest):
        # Only now is its secret at hand: from here on the key works without the old SECRET_KEY.
        changes |= {"digest": seal(KEY_PURPOSE, secret), "last_used_at": now}
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
    if question is None or question.room_id != key.room_id:
        raise Missing
    return question


def check_scope(key: AgentKey, scope: Scope) -> None:
    """Raise MissingScope unless the key was made with this scope."""
    if not key.has_scope(scope):
        raise MissingScope(scope)


def check_own(key: AgentKey, question: Question) -> None:
    """Raise NotOwnQuestion unless this key asked it, or one that it replaced or was replaced by."""
    if question.key_id == key.pk:
        return
    same_agent = AgentKey.objects.filter(room=key.room_id, lineage=key.lineage)
    if question.key_id is None or not same_agent.filter(pk=question.key_id).exists():
        raise NotOwnQuestion


def named_users(usernames: list[str]) -> list[AbstractBaseUser]:
    """The users with these names; raises LookupError with the first name that is nobody's."""
    users = get_user_model()
    found: list[AbstractBaseUser] = []
    for username in usernames:
        try:
            found.append(users._default_manager.get_by_natural_key(username))
        except users.DoesNotExist as missing:
            raise LookupError(username) from missing
    return found
