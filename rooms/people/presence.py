"""Presence: who has a page open, as pages show it and notifications use it.

It is a lease. Every process renews its own viewers in one statement; if a process dies, its viewers count as
present until their leases end.
"""

from collections.abc import Collection
from datetime import timedelta
from typing import Any, NamedTuple

from django.contrib.auth import get_user_model
from django.db import connections

from rooms import membership
from rooms.db import timezone
from rooms.db.transactions import alias, writing
from rooms.lifecycle import name_of
from rooms.models import Presence, Room
from rooms.people import agents
from rooms.permissions import Permissions, permissions

# How long a person counts as present after the last renewal; a reload must not flicker.
PRESENT_SECONDS = 15


def renew(user_ids: Collection[Any]) -> None:
    """These people have a page open."""
    until = timezone.now() + timedelta(seconds=PRESENT_SECONDS)
    # MariaDB compares all unique fields, and cannot be told which.
    can_name_fields = connections[alias()].features.supports_update_conflicts_with_target
    with writing():
        Presence.objects.bulk_create(
            # In one order: another process may renew some of the same people.
            [Presence(user_id=user_id, until=until) for user_id in sorted(user_ids)],
            update_conflicts=True,
            unique_fields=["user"] if can_name_fields else None,
            update_fields=["until"],
        )


class PersonHere(NamedTuple):
    """A person who has a page open."""

    name: str
    user_id: Any


def people_in(rooms: Collection[Room]) -> dict[int, list[PersonHere]]:
    """For each of these rooms the people who have a page open and may see the room, by name."""
    leases = Presence.objects.filter(until__gt=timezone.now())
    present = get_user_model()._default_manager.filter(pk__in=leases.values("user"))
    people = {user.pk: user for user in present if user.is_active}
    shown = {user_id: PersonHere(name_of(user), user_id) for user_id, user in people.items()}
    found = insiders(rooms, people)
    return {room_id: sorted(shown[user_id] for user_id in inside) for room_id, inside in found.items()}


def insiders(rooms: Collection[Room], people: dict[Any, Any]) -> dict[int, set[Any]]:
    """Which of these people may see each of these rooms, by the rules of the app or of the portal."""
    rules = permissions()
    return _insiders(rooms, people) if rules.knows_by_membership else _insiders_by(rules, rooms, people)


def _insiders(rooms: Collection[Room], people: dict[Any, Any]) -> dict[int, set[Any]]:
    """Who may see each room by the default rules, in a few queries."""
    superusers = {user_id for user_id, user in people.items() if getattr(user, "is_superuser", False)}
    insiders = {room.pk: set(people) if room.is_open else set(superusers) for room in rooms}
    for room_id, user_id in membership.pairs_among(rooms, people):
        insiders[room_id].add(user_id)
    return insiders


def _insiders_by(rules: Permissions, rooms: Collection[Room], people: dict[Any, Any]) -> dict[int, set[Any]]:
    """Who may see each room by the portal's rules, in one query per person."""
    insiders: dict[int, set[Any]] = {room.pk: set() for room in rooms}
    shown = Room.objects.filter(pk__in=insiders)
    for user_id, user in people.items():
        for room_id in rules.visible_rooms(user, shown).values_list("pk", flat=True):
            insiders[room_id].add(user_id)
    return insiders


class Here(NamedTuple):
    """Who is present in a room, by name."""

    people: list[PersonHere]
    agents: list[str]


def renew_and_look(user_ids: Collection[Any], room_ids: Collection[int]) -> list[tuple[Room, Here]]:
    """Renew the people of this process, and read who is present in these rooms, in any process."""
    renew(user_ids)
    rooms = list(Room.objects.filter(pk__in=room_ids))
    people, connected = people_in(rooms), agents.connected_in(rooms)
    return [(room, Here(people[room.pk], connected[room.pk])) for room in rooms]
