"""Permissions of the portal for Ask Bridge: a team sees the room that has its name."""

from django.contrib.auth.models import AbstractBaseUser

from rooms.models import Room, RoomQuerySet
from rooms.permissions import Permissions


class TeamPermissions(Permissions):
    def visible_rooms(self, user: AbstractBaseUser, rooms: RoomQuerySet) -> RoomQuerySet:
        return super().visible_rooms(user, rooms) | rooms.filter(slug=user.team)

    def may_answer(self, user: AbstractBaseUser, room: Room) -> bool:
        return not user.is_guest
