"""Who may see and do what: people by login and membership, agents by key. Foreign looks like missing."""

import hmac
import re
import secrets
from datetime import timedelta
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user, get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q
from django.http import Http404, HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from rooms.ids import ALPHABET
from rooms.lifecycle import Person
from rooms.models import AgentKey, Membership, Question, Room, RoomQuerySet

KEY_PATTERN = re.compile(r"abk_([0-9a-z]{10})_([0-9a-z]{40})")
LOOKUP_CHARACTERS = 10
SECRET_CHARACTERS = 40  # of 32 letters: 200 bits
# A key in steady use is not written to for every call.
LAST_USED_PRECISION = timedelta(minutes=1)


class Missing(Exception):
    """Not there, or not for this key: the same to the caller."""


class SignedOut(Exception):
    """A page's session is over."""


class BadKey(Exception):
    """No key, a wrong key or a revoked one: all the same to the caller."""


# ---- people ----------------------------------------------------------------------------------------------


def visible_rooms(user: Person) -> RoomQuerySet:
    """The rooms that this person may see and answer in."""
    if not user.is_authenticated or not user.is_active:
        return Room.objects.none()
    rooms = Room.objects.active()
    if getattr(user, "is_superuser", False):
        return rooms
    mine = Membership.objects.filter(user_id=user.pk).values("room_id")
    return rooms.filter(Q(is_open=True) | Q(pk__in=mine))


def room_for(user: Person, slug: str) -> Room:
    """The room, or 404 as if it did not exist."""
    room = visible_rooms(user).filter(slug=slug).first()
    if room is None:
        raise Http404("There is no such room.")
    return room


def question_for(user: Person, slug: str, question_id: str) -> Question:
    """The question in that room, or 404 as if it did not exist."""
    room = room_for(user, slug)
    question = Question.objects.with_answer().filter(room=room, pk=question_id).first()
    if question is None:
        raise Http404("There is no such question.")
    return question


def may_manage(user: Person, room: Room) -> bool:
    """Managers of the room and admins may create its keys."""
    if getattr(user, "is_superuser", False):
        return True
    managers = Membership.objects.filter(room=room, role=Membership.Role.MANAGER)
    return user.pk is not None and managers.filter(user_id=user.pk).exists()


def user_of_session(session_key: str | None) -> Person:
    """The signed-in user behind a session cookie, as Django's own middleware would find them."""
    request = HttpRequest()
    engine = import_module(settings.SESSION_ENGINE)
    request.session = engine.SessionStore(session_key)
    return get_user(request)


# ---- agents ----------------------------------------------------------------------------------------------


def create_key(room: Room, *, label: str, created_by: Any = None) -> tuple[AgentKey, str]:
    """A new key for the room and its text, which is nowhere stored and cannot be shown again."""
    lookup = "".join(secrets.choice(ALPHABET) for _ in range(LOOKUP_CHARACTERS))
    secret = "".join(secrets.choice(ALPHABET) for _ in range(SECRET_CHARACTERS))
    key = AgentKey.objects.create(
        room=room, label=label, lookup=lookup, digest=_digest(secret), created_by=created_by
    )
    return key, f"abk_{lookup}_{secret}"


def revoke_keys(keys: Any) -> int:
    """Stop these keys for good; how many were still alive."""
    return keys.filter(revoked_at=None).update(revoked_at=timezone.now())


def key_from_header(authorization: str) -> AgentKey:
    """The living key in an Authorization header, or BadKey."""
    scheme, _, text = authorization.partition(" ")
    match = KEY_PATTERN.fullmatch(text.strip())
    if scheme.lower() != "bearer" or not match:
        raise BadKey
    lookup, secret = match.groups()
    key = AgentKey.objects.usable().select_related("room").filter(lookup=lookup).first()
    if key is None or not _is_digest_of(secret, key.digest):
        raise BadKey
    now = timezone.now()
    if key.last_used_at is None or now - key.last_used_at > LAST_USED_PRECISION:
        AgentKey.objects.filter(pk=key.pk).update(last_used_at=now)
    return key


def room_of_key(key: AgentKey, slug: str) -> Room:
    """The key's own room, or Missing."""
    if key.room.slug != slug:
        raise Missing
    return key.room


def question_of_key(key: AgentKey, question_id: str) -> Question:
    """A question in the key's room, or Missing."""
    question = Question.objects.with_answer().filter(room_id=key.room_id, pk=question_id).first()
    if question is None:
        raise Missing
    return question


def _digest(secret: str, signing_key: str | bytes | None = None) -> str:
    return salted_hmac("ask_bridge.agent_key", secret, signing_key, algorithm="sha256").hexdigest()


def _is_digest_of(secret: str, digest: str) -> bool:
    """Also for keys that were made before SECRET_KEY was rotated."""
    signing_keys = [None, *settings.SECRET_KEY_FALLBACKS]
    return any(hmac.compare_digest(_digest(secret, signing_key), digest) for signing_key in signing_keys)


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
