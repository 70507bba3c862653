"""Verbs of members, people and groups: add, change the role, remove. Signals of the models record them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from rooms import audit
from rooms.db.transactions import alias, writing
from rooms.lifecycle.actors import Person
from rooms.lifecycle.exceptions import LastManager
from rooms.models import GroupMembership, Membership, Room
from rooms.permissions import permissions


def add_member(room: Room, user: AbstractBaseUser, role: str, by: Person) -> bool:
    """Make this person a member with this role; False if they are one, whose role stays."""
    with writing(), audit.acting_as(by):
        _, is_new = Membership.objects.get_or_create(room=room, user_id=user.pk, defaults={"role": role})
    return is_new


def add_group(room: Room, group: Any, role: str, by: Person | None = None) -> bool:
    """Make all people of this group members with this role; False if they are, and the role stays."""
    with writing(), audit.acting_as(by):
        _, is_new = GroupMembership.objects.get_or_create(room=room, group=group, defaults={"role": role})
    return is_new


def change_role(membership: Membership | GroupMembership, role: str, by: Person) -> None:
    """Give a person or a group another role; LastManager if the room would have no manager then."""
    with _members_locked(membership.room, by):
        current = _now(membership)
        if current and current.role != role:
            current.role = role
            current.save(update_fields=["role"])


def remove_member(membership: Membership | GroupMembership, by: Person) -> None:
    """End the membership of a person or group; LastManager if the room would have no manager then."""
    with _members_locked(membership.room, by):
        current = _now(membership)
        if current:
            current.delete()


def _now(membership: Membership | GroupMembership) -> Any:
    return type(membership)._default_manager.filter(pk=membership.pk).first()


@contextmanager
def _members_locked(room: Room, by: Person) -> Iterator[None]:
    """A transaction for one change at a time: two managers could otherwise remove each other."""
    with writing(), audit.acting_as(by):
        Room.objects.using(alias()).select_for_update().get(pk=room.pk)
        had_manager = _has_manager(room)
        yield
        # A superuser, or a person whom the rules of a portal let manage, can still add a manager.
        if had_manager and not _has_manager(room) and not _may_manage(by, room):
            raise LastManager


def _has_manager(room: Room) -> bool:
    """Whether a person who can sign in manages the room."""
    return any(user.is_active for user in permissions().managers(room).iterator())


def _may_manage(by: Person, room: Room) -> bool:
    return by.is_authenticated and permissions().may_manage(by, room)
