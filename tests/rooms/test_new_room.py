"""New rooms on the page for them: who may create one, and what is created."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from rooms.models import AuditEntry, Membership, Room
from rooms.permissions import Permissions

LINK = 'href="/rooms/new"'


@pytest.fixture
def creator(ana: Any) -> Client:
    """Ana's browser; she is staff."""
    ana.is_staff = True
    ana.save()
    client = Client()
    client.force_login(ana)
    return client


def create(client: Client, name: str = "Release team", **fields: str) -> Any:
    return client.post("/rooms/new", {"name": name, "slug": "", "is_open": "", **fields})


def test_the_creator_manages_the_new_room(creator: Client, ana: Any) -> None:
    reply = create(creator)
    assert (reply.status_code, reply["Location"]) == (302, "/rooms/release-team/manage/members")
    room = Room.objects.get()
    assert (room.name, room.slug, room.is_open) == ("Release team", "release-team", False)
    assert list(Membership.objects.values_list("user", "role")) == [(ana.pk, "manager")]
    entries = AuditEntry.objects.values_list("action", "actor", "room")
    assert list(entries) == [("room_created", "ana", "release-team"), ("member_added", "ana", "release-team")]
    assert creator.get(reply["Location"]).status_code == 200


def test_an_open_room_with_an_address_of_its_own(creator: Client) -> None:
    create(creator, "Lobby", slug="hall", is_open="on")
    assert Room.objects.filter(slug="hall", is_open=True).exists()


@pytest.mark.parametrize(
    ("name", "slug"), [("Operations", "operations"), ("Büro  Köln!", "buro-koln"), ("New", "new-2")]
)
def test_an_empty_address_is_made_from_the_name(creator: Client, name: str, slug: str) -> None:
    create(creator, name)
    assert Room.objects.get().slug == slug


def test_a_second_room_of_the_same_name_gets_a_number(creator: Client) -> None:
    create(creator, "Ops")
    create(creator, "Ops")
    assert set(Room.objects.values_list("slug", flat=True)) == {"ops", "ops-2"}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"name": " "}, "This field is required."),
        ({"name": "会議"}, "Enter an address: letters a–z, digits and hyphens."),
        ({"slug": "two words"}, "Enter a valid “slug”"),
        ({"slug": "ops"}, "This address is taken"),
        ({"slug": "new"}, "This address belongs to another page: choose another."),
        ({"slug": "archived"}, "This address belongs to another page: choose another."),
    ],
)
def test_what_is_wrong_is_said_and_what_was_typed_stays(
    creator: Client, room: Room, fields: dict[str, str], sentence: str
) -> None:
    reply = create(creator, **{"name": "Release", **fields})
    assert reply.status_code == 422
    assert sentence in reply.content.decode()
    assert f'value="{fields.get("slug", "")}"' in reply.content.decode()
    assert list(Room.objects.all()) == [room]


def test_the_page_is_missing_for_people_who_may_not_create(browser: Client, room: Room) -> None:
    assert browser.get("/rooms/new").status_code == 404
    assert create(browser).status_code == 404
    assert LINK not in browser.get("/").content.decode()
    assert list(Room.objects.all()) == [room]


def test_everyone_may_create_where_the_setting_says_so(browser: Client, settings: Any) -> None:
    settings.ASK_BRIDGE = {"ROOM_CREATORS": "everyone"}
    assert LINK in browser.get("/").content.decode()
    assert create(browser).status_code == 302


class AdminsManage(Permissions):
    """All people create rooms, and only superusers manage them."""

    def may_create(self, user: Any) -> bool:
        return True

    def may_manage(self, user: Any, room: Room) -> bool:
        return bool(user.is_superuser)


def test_who_does_not_manage_the_new_room_is_led_to_its_page(browser: Client, settings: Any) -> None:
    settings.ASK_BRIDGE = {"PERMISSIONS": f"{AdminsManage.__module__}.{AdminsManage.__name__}"}
    reply = create(browser)
    assert reply["Location"] == "/rooms/release-team"
    assert browser.get(reply["Location"]).status_code == 200


def test_rooms_of_one_person_are_limited_per_minute(creator: Client, settings: Any) -> None:
    settings.ASK_BRIDGE = {"ROOMS_PER_MINUTE": 1}
    create(creator, "First")
    reply = create(creator, "Second")
    assert reply.status_code == 429
    assert int(reply["Retry-After"]) > 0
    assert 'value="Second"' in reply.content.decode()
    assert Room.objects.count() == 1


def test_a_room_from_before_keeps_a_slug_that_is_reserved_now(db: None) -> None:
    room = Room.objects.create(slug="new", name="New")
    room.clean()
    with pytest.raises(CommandError, match="another page"):
        call_command("createroom", "archived")
