"""A portal's own permission rules hold for seeing, answering and managing."""

from typing import Any

import pytest
from django.contrib.auth.models import AbstractBaseUser
from django.test import Client

from rooms import access
from rooms.models import Message, Question, Room, RoomQuerySet
from rooms.people import presence
from rooms.permissions import Permissions


class EveryoneLooksOn(Permissions):
    """All people see and manage all rooms; only Ben answers."""

    def visible_rooms(self, user: AbstractBaseUser, rooms: RoomQuerySet) -> RoomQuerySet:
        return rooms

    def may_answer(self, user: AbstractBaseUser, room: Room) -> bool:
        return user.get_username() == "ben"

    def may_manage(self, user: AbstractBaseUser, room: Room) -> bool:
        return True


@pytest.fixture(autouse=True)
def own_rules(settings: Any) -> None:
    settings.ASK_BRIDGE = {"PERMISSIONS": "tests.rooms.test_permissions.EveryoneLooksOn"}


def address(question: Question, verb: str) -> str:
    return f"/rooms/{question.room.slug}/questions/{question.pk}/{verb}"


def test_they_say_who_sees_a_room(browser: Client, other_room: Room) -> None:
    assert browser.get("/rooms/lab").status_code == 200
    assert "Laboratory" in browser.get("/").content.decode()


def test_who_is_here_goes_by_them(other_room: Room, ben: Any) -> None:
    presence.renew([ben.pk])
    assert presence.people_in([other_room]) == {other_room.pk: [("ben", ben.pk)]}


def test_an_archived_room_is_out_of_sight_whatever_they_say(browser: Client, other_room: Room) -> None:
    Room.objects.filter(pk=other_room.pk).update(archived_at=other_room.created_at)
    assert browser.get("/rooms/lab").status_code == 404


def test_they_say_who_manages_a_room(browser: Client, other_room: Room) -> None:
    browser.post("/rooms/lab/connect", {"label": "bot", "expires_in_days": ""})
    assert other_room.keys.count() == 1


@pytest.mark.parametrize("verb", ["answer", "skip", "reply", "answering"])
def test_who_may_only_look_decides_nothing(browser: Client, question: Question, verb: str) -> None:
    form = {"choice-0": "1", "reply": "Why?"}
    assert browser.get("/rooms/ops").status_code == 200
    assert browser.post(address(question, verb), form).status_code == 403
    question.refresh_from_db()
    assert question.is_open


def test_who_may_only_look_is_told_so_on_the_card(browser: Client, question: Question) -> None:
    told = browser.post(address(question, "answer"), {"choice-0": "1"}, headers={"HX-Request": "true"})
    assert told.status_code == 422
    assert told["HX-Retarget"] == "find .ab-errors"
    assert "You can read this room, but not answer in it" in told.content.decode()


def test_who_may_only_look_writes_nothing(browser: Client, room: Room) -> None:
    page = browser.get("/rooms/ops").content.decode()
    assert "You can read this room, but not answer in it." in page
    assert 'id="ab-composer"' not in page
    assert browser.post("/rooms/ops/messages", {"content": "Hello"}).status_code == 403
    assert not Message.objects.exists()


def test_who_may_answer_does(ben: Any, question: Question) -> None:
    client = Client()
    client.force_login(ben)
    assert 'id="ab-composer"' in client.get("/rooms/ops").content.decode()
    assert client.post(address(question, "answer"), {"choice-0": "1"}).status_code == 303


def test_the_rules_are_not_asked_about_signed_out_or_inactive_users(ana: Any, room: Room) -> None:
    ana.is_active = False
    assert not access.visible_rooms(ana).exists()
