"""Who is here: people with a page open, in the rooms that they may see."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from rooms import lifecycle
from rooms.models import Presence, Room
from rooms.people import presence


def names_in(*rooms: Room) -> list[list[str]]:
    people = presence.people_in(rooms)
    return [[person.name for person in people[room.pk]] for room in rooms]


@pytest.fixture
def all_are_here(ana: Any, ben: Any, admin_user: Any) -> None:
    presence.renew([ana.pk, ben.pk, admin_user.pk])


@pytest.mark.usefixtures("all_are_here")
def test_members_and_superusers_are_in_a_room_for_members(room: Room, other_room: Room) -> None:
    assert names_in(room, other_room) == [["Ana Costa", "admin", "ben"], ["admin"]]


@pytest.mark.usefixtures("all_are_here")
def test_all_people_are_in_an_open_room(room: Room) -> None:
    hall = lifecycle.create_room("hall", is_open=True)
    assert names_in(hall, room) == [["Ana Costa", "admin", "ben"]] * 2


def test_who_closed_the_last_page_is_gone_after_a_while(room: Room, ana: Any, ben: Any) -> None:
    presence.renew([ana.pk, ben.pk])
    Presence.objects.filter(user=ana).update(until=timezone.now() - timedelta(seconds=1))
    assert names_in(room) == [["ben"]]


def test_who_was_deactivated_is_gone(room: Room, ana: Any, ben: Any) -> None:
    presence.renew([ana.pk, ben.pk])
    ben.is_active = False
    ben.save()
    assert names_in(room) == [["Ana Costa"]]


def test_no_person_is_here_without_a_page(room: Room) -> None:
    assert names_in(room) == [[]]


def test_renewing_tells_who_is_in_each_room(room: Room, other_room: Room, ana: Any) -> None:
    seen = presence.renew_and_look([ana.pk], [other_room.pk, room.pk])
    assert {told.slug: [person.name for person in here.people] for told, here in seen} == {
        "ops": ["Ana Costa"],
        "lab": [],
    }
