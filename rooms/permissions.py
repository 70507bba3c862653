"""Who may see, answer and manage: the rules that a portal can replace by its own.

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
    """Open rooms are for everybody who is signed in, others for their members; superusers are everywhere."""

    def visible_rooms(self, user: AbstractBaseUser, rooms: RoomQuerySet) -> RoomQuerySet:
        """Those of the rooms that this person may see; the others do not exist for them."""
        if getattr(user, "is_superuser", False):
            return rooms
        mine = Membership.objects.filter(user_id=user.pk).values("room_id")
        return rooms.filter(Q(is_open=True) | Q(pk__in=mine))

    def may_see(self, user: AbstractBaseUser, room: Room) -> bool:
        """What `visible_rooms` says of one room that was read already."""
        if not self.knows_by_membership:
            return self.visible_rooms(user, Room.objects.filter(pk=room.pk)).exists()
        if room.is_open or getattr(user, "is_superuser", False):
            return True
        return MEMBERSHIP.first(room=room.pk, user=key_of(user)) is not None

    @property
    def knows_by_membership(self) -> bool:
        """Whether `visible_rooms` is the one above, so that what it says can be known without it."""
        return type(self).visible_rooms is Permissions.visible_rooms

    @property
    def lets_all_answer(self) -> bool:
        """Whether `may_answer` is the one below, which is true for all."""
        return type(self).may_answer is Permissions.may_answer

    @property
    def manages_by_membership(self) -> bool:
        """Whether `may_manage` is the one below, so that it can be known for many rooms at once."""
        return type(self).may_manage is Permissions.may_manage

    def may_answer(self, user: AbstractBaseUser, room: Room) -> bool:
        """Whether this person, who sees the room, may also decide and write in it."""
        return True

    def may_manage(self, user: AbstractBaseUser, room: Room) -> bool:
        """Whether this person, who sees the room, may also make and stop its keys."""
        if getattr(user, "is_superuser", False):
            return True
        managers = Membership.objects.filter(room=room, role=Membership.Role.MANAGER)
        return managers.filter(user_id=user.pk).exists()

    def managers(self, room: Room) -> QuerySet[Any]:
        """Who is told when nobody else answers: those who look after the room, not everybody who could."""
        members = Membership.objects.filter(room=room, role=Membership.Role.MANAGER)
        return get_user_model()._default_manager.filter(pk__in=members.values("user"))


def permissions() -> Permissions:
    """The rules that hold here."""
    rules: Permissions = _class_at(setting("PERMISSIONS"))()
    return rules


# Looked up once: every click asks several times.
_class_at = cache(import_string)
