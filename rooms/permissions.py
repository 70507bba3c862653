"""Permissions: who may see, answer and manage. A portal can replace these rules.

A portal subclasses `Permissions`, changes what differs, and names its class in the settings:
`ASK_BRIDGE = {"PERMISSIONS": "portal.permissions.TeamPermissions"}`.
"""

from functools import cache
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q, QuerySet
from django.utils.module_loading import import_string

from rooms.conf import setting
from rooms.db.compiled import Select, key_of
from rooms.models import Membership, Room, RoomQuerySet

MEMBERSHIP = Select(lambda room, user: Membership.objects.filter(room=room, user=user).values_list("pk"))


class Permissions:
    """Open rooms are for all signed-in users, the others for their members; superusers see all rooms."""

    def visible_rooms(self, user: AbstractBaseUser, rooms: RoomQuerySet) -> RoomQuerySet:
        """The rooms of these that this person may see; all others answer with 404."""
        if getattr(user, "is_superuser", False):
            return rooms
        mine = Membership.objects.filter(user_id=user.pk).values("room_id")
        return rooms.filter(Q(is_open=True) | Q(pk__in=mine))

    def may_see(self, user: AbstractBaseUser, room: Room) -> bool:
        """The same for one room that is already loaded."""
        if not self.knows_by_membership:
            return self.visible_rooms(user, Room.objects.filter(pk=room.pk)).exists()
        if room.is_open or getattr(user, "is_superuser", False):
            return True
        return MEMBERSHIP.first(room=room.pk, user=key_of(user)) is not None

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
        """Whether this person, who sees the room, may also create and revoke its keys."""
        if getattr(user, "is_superuser", False):
            return True
        managers = Membership.objects.filter(room=room, role=Membership.Role.MANAGER)
        return managers.filter(user_id=user.pk).exists()

    def managers(self, room: Room) -> QuerySet[Any]:
        """Who is notified of an unanswered question: the room's managers, not all who may manage it."""
        members = Membership.objects.filter(room=room, role=Membership.Role.MANAGER)
        return get_user_model()._default_manager.filter(pk__in=members.values("user"))


def permissions() -> Permissions:
    """An instance of the class in the setting PERMISSIONS."""
    rules: Permissions = _class_at(setting("PERMISSIONS"))()
    return rules


# Imported once: every click needs it several times.
_class_at = cache(import_string)
