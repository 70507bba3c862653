"""Who may see, answer and manage: the rules that a portal can replace by its own.

A portal subclasses `Permissions`, changes what differs, and names its class in the settings:
`ASK_BRIDGE = {"PERMISSIONS": "portal.permissions.TeamPermissions"}`.
"""

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q
from django.utils.module_loading import import_string

from rooms.conf import setting
from rooms.models import Membership, Room, RoomQuerySet


class Permissions:
    """Open rooms are for everybody who is signed in, others for their members; superusers are everywhere."""

    def visible_rooms(self, user: AbstractBaseUser, rooms: RoomQuerySet) -> RoomQuerySet:
        """Those of the rooms that this person may see; the others do not exist for them."""
        if getattr(user, "is_superuser", False):
            return rooms
        mine = Membership.objects.filter(user_id=user.pk).values("room_id")
        return rooms.filter(Q(is_open=True) | Q(pk__in=mine))

    def may_answer(self, user: AbstractBaseUser, room: Room) -> bool:
        """Whether this person, who sees the room, may also decide and write in it."""
        return True

    def may_manage(self, user: AbstractBaseUser, room: Room) -> bool:
        """Whether this person, who sees the room, may also make and stop its keys."""
        if getattr(user, "is_superuser", False):
            return True
        managers = Membership.objects.filter(room=room, role=Membership.Role.MANAGER)
        return managers.filter(user_id=user.pk).exists()


def permissions() -> Permissions:
    """The rules that hold here."""
    rules: Permissions = import_string(setting("PERMISSIONS"))()
    return rules
