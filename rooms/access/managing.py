"""Access of managers: the rooms that they manage, and the people whom they may add."""

from functools import reduce
from operator import and_, or_
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db.models import Q
from django.http import Http404

from rooms import membership
from rooms.access.people import may_manage
from rooms.lifecycle import Person
from rooms.models import Room, RoomQuerySet
from rooms.permissions import permissions

# Enough to pick from; a longer list would be a directory of the site's users.
MOST_FOUND = 10
# One letter would find most of them.
LEAST_LETTERS = 2
# More words than a name has only cost the database time.
MOST_WORDS = 5


def may_create(user: Person) -> bool:
    """Whether this person may create rooms."""
    return user.is_authenticated and user.is_active and permissions().may_create(user)


def managed_room(user: Person, slug: str, *, archived_too: bool = False) -> Room:
    """The room that this person manages, or 404 as if it did not exist."""
    rooms = Room.objects.all() if archived_too else Room.objects.active()
    room = _visible(user, rooms.filter(slug=slug)).first()
    if room is None or not may_manage(user, room):
        raise Http404("There is no such room.")
    return room


def archived_rooms(user: Person) -> list[Room]:
    """The archived rooms that this person manages and may restore."""
    archived = _visible(user, Room.objects.exclude(archived_at=None)).order_by("-archived_at")
    if not permissions().manages_by_membership:
        return [room for room in archived if may_manage(user, room)]
    if not getattr(user, "is_superuser", False):
        archived = archived.filter(pk__in=membership.roles_of(user).manages)
    return list(archived)


def _visible(user: Person, rooms: RoomQuerySet) -> RoomQuerySet:
    if not user.is_authenticated or not user.is_active:
        return rooms.none()
    return permissions().visible_rooms(user, rooms)


def find_people(user: Person, room: Room, text: str) -> list[Any]:
    """People whom this manager may add, by parts of their name or user name, or by their e-mail address.

    An address is matched only as a whole, so that the search cannot be used to find addresses.
    """
    words = text.split()[:MOST_WORDS]
    if not user.is_authenticated or len(text.strip()) < LEAST_LETTERS:
        return []
    users: Any = get_user_model()
    email = users.get_email_field_name()
    columns = (users.USERNAME_FIELD, "first_name", "last_name", "name")
    names = [name for name in columns if _is_column(name)]
    matches = reduce(and_, (_any(names, word) for word in words))
    if _is_column(email):
        matches |= Q(**{f"{email}__iexact": text.strip()})
    found = permissions().people(user, room).filter(matches)
    return list(found.order_by(users.USERNAME_FIELD)[:MOST_FOUND])


def person_to_add(user: Person, room: Room, key: str) -> Any:
    """The person with this primary key, or 404 if this manager may not add them."""
    return _with_key(permissions().people(user, room) if user.is_authenticated else None, key)


def find_groups(user: Person, room: Room, text: str) -> list[Any]:
    """Groups that this manager may add, by a part of their name."""
    if not user.is_authenticated or len(text.strip()) < LEAST_LETTERS:
        return []
    words = text.split()[:MOST_WORDS]
    matches = reduce(and_, (Q(name__icontains=word) for word in words))
    return list(permissions().groups(user, room).filter(matches).order_by("name")[:MOST_FOUND])


def group_to_add(user: Person, room: Room, key: str) -> Any:
    """The group with this primary key, or 404 if this manager may not add it."""
    return _with_key(permissions().groups(user, room) if user.is_authenticated else None, key)


def _with_key(allowed: Any, key: str) -> Any:
    try:
        found = allowed.filter(pk=key).first() if allowed is not None else None
    except (ValueError, OverflowError, ValidationError):  # no number or UUID, as the model has it
        found = None
    if found is None:
        raise Http404("There is no such person or group.")
    return found


def _any(names: list[str], word: str) -> Q:
    return reduce(or_, (Q(**{f"{name}__icontains": word}) for name in names))


def _is_column(name: str) -> bool:
    try:
        return bool(name) and get_user_model()._meta.get_field(name).concrete
    except FieldDoesNotExist:
        return False
