"""Who has a page open: they would see a question at once, and everybody in their rooms may know.

Every process renews its own viewers in one statement; a process that dies takes nobody with it for longer
than the lease.
"""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.utils import timezone

from rooms.database import writing
from rooms.lifecycle import name_of
from rooms.models import Membership, Presence, Room

# Who closed the last page is gone from the lists this much later; a reload must not flicker.
PRESENT_SECONDS = 15


def renew(user_ids: Collection[Any]) -> None:
    """These people have a page open."""
    until = timezone.now() + timedelta(seconds=PRESENT_SECONDS)
    with writing():
        Presence.objects.bulk_create(
            [Presence(user_id=user_id, until=until) for user_id in user_ids],
            update_conflicts=True,
            unique_fields=["user"],
            update_fields=["until"],
        )


def people_in(rooms: Collection[Room]) -> dict[int, list[str]]:
    """The names of those who have a page open and may see the room, for each of these rooms."""
    present = get_user_model()._default_manager.filter(ask_bridge_presence__until__gt=timezone.now())
    people = [user for user in present if user.is_active]
    members = set(
        Membership.objects.filter(user__in=people, room__in=rooms).values_list("room_id", "user_id")
    )

    def is_in(user: AbstractBaseUser, room: Room) -> bool:
        return room.is_open or getattr(user, "is_superuser", False) or (room.pk, user.pk) in members

    return {room.pk: sorted(name_of(user) for user in people if is_in(user, room)) for room in rooms}


def renew_and_look(user_ids: Collection[Any], room_ids: Collection[int]) -> list[tuple[Room, list[str]]]:
    """Renew this process's people and see who is in these rooms, theirs and others."""
    renew(user_ids)
    rooms = list(Room.objects.filter(pk__in=room_ids))
    people = people_in(rooms)
    return [(room, people[room.pk]) for room in rooms]
