"""Rooms of any size in the admin: their page stays small, and their members have a list of their own."""

from html.parser import HTMLParser
from time import thread_time
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from rooms.admin.members import LISTED_MEMBERS
from rooms.models import AuditEntry, Membership, Room

ROOM = "admin:ask_bridge_room_change"
MEMBERS = reverse("admin:ask_bridge_membership_changelist")
# Far more than the 0.1 s that it takes, and far less than the 20 s that a row for each member took.
MOST_CPU_SECONDS = 1
MOST_QUERIES = 30
MOST_BYTES = 200_000

# The kinds of inputs that the admin uses, but for those that are sent only when ticked.
SENT_AS_THEY_ARE = ("text", "hidden", "number", "search")


class Fields(HTMLParser):
    """What a browser would send of a form: its fields with their values."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[tuple[str, str]] = []
        self._select = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        name, kind = given.get("name", ""), given.get("type", "text")
        if tag == "select":
            self._select = name
        elif tag == "option" and "selected" in given:
            self.values.append((self._select, given.get("value", "")))
        elif tag == "input" and name and (kind in SENT_AS_THEY_ARE or "checked" in given):
            self.values.append((name, given.get("value", "")))


def form_of(page: str) -> dict[str, Any]:
    found = Fields()
    found.feed(page)
    return dict(found.values)


@pytest.fixture
def admin_client(db: None) -> Client:
    browser = Client()
    browser.force_login(get_user_model().objects.create_superuser("root"))
    return browser


def fill(room: Room, count: int) -> None:
    users = [get_user_model()(username=f"person-{number}") for number in range(count)]
    get_user_model().objects.bulk_create(users)
    Membership.objects.bulk_create([Membership(room=room, user=user) for user in users])


@pytest.mark.parametrize("count", [LISTED_MEMBERS, 260])
def test_a_room_with_many_members_can_be_saved(admin_client: Client, other_room: Room, count: int) -> None:
    fill(other_room, count)
    address = reverse(ROOM, args=(other_room.pk,))
    form = form_of(admin_client.get(address).content.decode())
    saved = admin_client.post(address, form | {"name": "Workshop"})
    assert saved.status_code == 302, saved.content.decode()
    other_room.refresh_from_db()
    assert (other_room.name, other_room.memberships.count()) == ("Workshop", count)


def test_a_member_is_added_on_a_large_rooms_page(admin_client: Client, other_room: Room, ana: Any) -> None:
    fill(other_room, 260)
    address = reverse(ROOM, args=(other_room.pk,))
    form = form_of(admin_client.get(address).content.decode())
    new = {"memberships-TOTAL_FORMS": "1", "memberships-0-user": str(ana.pk), "memberships-0-role": "manager"}
    assert admin_client.post(address, form | new).status_code == 302
    assert other_room.memberships.get(user=ana).role == Membership.Role.MANAGER
    entry = AuditEntry.objects.get(action="member_added")
    assert (entry.actor, entry.subject) == ("root", str(ana.pk))
    # A second time is an error at the form, not one of the database.
    again = admin_client.post(address, form | new)
    assert again.status_code == 200
    assert "ana is already a member." in again.content.decode()


def test_a_form_that_was_shown_with_all_members_is_saved_when_the_room_has_grown(
    admin_client: Client, other_room: Room
) -> None:
    fill(other_room, LISTED_MEMBERS)
    address = reverse(ROOM, args=(other_room.pk,))
    form = form_of(admin_client.get(address).content.decode())
    newcomer = get_user_model().objects.create_user("newcomer")
    Membership.objects.create(room=other_room, user=newcomer)
    first = form["memberships-0-id"]
    assert admin_client.post(address, form | {"memberships-0-role": "manager"}).status_code == 302
    assert Membership.objects.get(pk=first).role == Membership.Role.MANAGER
    assert other_room.memberships.count() == LISTED_MEMBERS + 1


def test_a_room_with_ten_thousand_members_opens_at_once(admin_client: Client, other_room: Room) -> None:
    fill(other_room, 10_000)
    list_of_room = f"{MEMBERS}?room__id__exact={other_room.pk}"
    for address in (reverse(ROOM, args=(other_room.pk,)), list_of_room, f"{list_of_room}&q=person-9999"):
        with CaptureQueriesContext(connection) as queries:
            begun = thread_time()
            page = admin_client.get(address)
            seconds = thread_time() - begun
        assert page.status_code == 200
        assert len(queries) < MOST_QUERIES
        assert len(page.content) < MOST_BYTES
        assert seconds < MOST_CPU_SECONDS
    assert "person-9999" in page.content.decode()
    shown = admin_client.get(reverse(ROOM, args=(other_room.pk,))).content.decode()
    assert f'<a href="{list_of_room}">10000 members</a>' in shown


def test_the_list_changes_roles_and_removes_and_says_who_did(admin_client: Client, room: Room) -> None:
    page = admin_client.get(f"{MEMBERS}?room__id__exact={room.pk}").content.decode()
    form = form_of(page) | {"form-0-role": "manager", "_save": "Save"}
    form.pop("action", None)
    assert admin_client.post(f"{MEMBERS}?room__id__exact={room.pk}", form).status_code == 302
    changed = Membership.objects.get(pk=form["form-0-id"])
    assert changed.role == Membership.Role.MANAGER
    remove = {"action": "delete_selected", "_selected_action": [str(changed.pk)], "post": "yes"}
    assert admin_client.post(MEMBERS, remove).status_code == 302
    assert not Membership.objects.filter(pk=changed.pk).exists()
    entries = AuditEntry.objects.filter(action__in=("member_changed", "member_removed"))
    assert [(entry.action, entry.actor) for entry in entries.order_by("pk")] == [
        ("member_changed", "root"),
        ("member_removed", "root"),
    ]


def test_a_membership_keeps_room_and_person(admin_client: Client, room: Room, other_room: Room) -> None:
    membership = room.memberships.earliest("pk")
    address = reverse("admin:ask_bridge_membership_change", args=(membership.pk,))
    sent = {"room": str(other_room.pk), "user": "1", "role": "manager"}
    assert admin_client.post(address, sent).status_code == 302
    changed = Membership.objects.get(pk=membership.pk)
    assert (changed.room, changed.user_id, changed.role) == (room, membership.user_id, "manager")


def test_members_are_for_those_who_may_see_them(room: Room) -> None:
    keeper = get_user_model().objects.create_user("keeper", is_staff=True)
    keeper.user_permissions.set(Permission.objects.filter(codename__in=("view_room", "change_room")))
    browser = Client()
    browser.force_login(keeper)
    assert "ask_bridge/membership" not in browser.get(reverse(ROOM, args=(room.pk,))).content.decode()
    assert browser.get(MEMBERS).status_code == 403
