"""Permissions: who may see, answer, manage and create. A portal can replace these rules.

A portal subclasses `Permissions`, changes what differs, and names its class in the settings:
`ASK_BRIDGE = {"PERMISSIONS": "portal.permissions.TeamPermissions"}`.
"""

from functools import cache
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q, QuerySet
from django.utils.module_loading import import_string

from rooms import membership
from rooms.conf import setting
from rooms.models import Membership, Room, RoomQuerySet


class Permissions:
    """Open rooms are for all signed-in users, the others for their members; superusers see all rooms."""

    def visible_rooms(self, user: AbstractBaseUser, rooms: RoomQuerySet) -> RoomQuerySet:
        """The rooms of these that this person may see; all others answer with 404."""
        if getattr(user, "is_superuser", False):
            return rooms
        # Two short statements: nested in one, groups double its cost.
        return rooms.filter(Q(is_open=True) | Q(pk__in=membership.roles_of(user).member_of))

    def may_see(self, user: AbstractBaseUser, room: Room) -> bool:
        """The same for one room that is already loaded."""
        if not self.knows_by_membership:
            return self.visible_rooms(user, Room.objects.filter(pk=room.pk)).exists()
        if room.is_open or getattr(user, "is_superuser", False):
            return True
        return membership.is_member(room, user)

    @property
    def knows_by_membership(self) -> bool:
        """Whether `visible_rooms` is not overridden, so that faster queries can replace it."""
        return type(self).visible_rooms is Permissions.visible_rooms

    @property
    def lets_all_answer(self) -> bool:
        """Whether `may_answer` is not overridden, and so true for all."""
        return type(self).may_answer is Permissions.may_answer

    @property
    def manages_by_membership(self) -> bool:
        """Whether `may_manage` is not overridden, so that one query can answer it for many rooms."""
        return type(self).may_manage is Permissions.may_manage

    def may_answer(self, user: AbstractBaseUser, room: Room) -> bool:
        """Whether this person, who sees the room, may also decide and write in it."""
        return True

    def may_manage(self, user: AbstractBaseUser, room: Room) -> bool:
        """Whether this person, who sees the room, may also change its settings, members and keys."""
        if getattr(user, "is_superuser", False):
            return True
        return membership.is_manager(room, user)

    def managers(self, room: Room) -> QuerySet[Any]:
        """Who is notified of an unanswered question: the room's managers, not all who may manage it."""
        return membership.people(room, Membership.Role.MANAGER)

    def may_create(self, user: AbstractBaseUser) -> bool:
        """Whether this person may create rooms, which they then manage: the setting ROOM_CREATORS."""
        # Each page asks this, so Django's permissions do not count: they would cost two queries.
        # A user model of a portal may have only one of the two columns.
        is_trusted = getattr(user, "is_staff", False) or getattr(user, "is_superuser", False)
        return setting("ROOM_CREATORS") == "everyone" or bool(is_trusted)

    def people(self, user: AbstractBaseUser, room: Room) -> QuerySet[Any]:
        """Whom this person, who manages the room, may find and add to it."""
        users = get_user_model()
        # A user model of a portal may have no such column: then all are active.
        has_column = any(field.name == "is_active" for field in users._meta.concrete_fields)
        return users._default_manager.filter(is_active=True) if has_column else users._default_manager.all()

    def groups(self, user: AbstractBaseUser, room: Room) -> QuerySet[Any]:
        """Which groups this person, who manages the room, may find and add to it."""
        groups: QuerySet[Any] = membership.group_model()._default_manager.all()
        return groups if membership.belonging() else groups.none()


def permissions() -> Permissions:
    """An instance of the class in the setting PERMISSIONS."""
    rules: Permissions = _class_at(setting("PERMISSIONS"))()
    return rules


# Imported once: every click needs it several times.
_class_at = cache(import_string)
