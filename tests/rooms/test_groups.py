"""Django groups as members of rooms: what their people see and may do, and how managers add them."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.exceptions import FieldDoesNotExist
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from rooms import access, lifecycle, membership
from rooms.access import locks
from rooms.contract.payload import parse_ask
from rooms.db.pool import in_database
from rooms.live import rechecks
from rooms.live.hub import hub
from rooms.models import AuditEntry, GroupMembership, Membership, Notice, NoticePreferences, Question, Room
from rooms.models.notifications import AT_ONCE
from rooms.notifications import planner
from rooms.people import presence
from rooms.permissions import Permissions, permissions
from tests.harness.database_pool import close_pool_connections
from tests.harness.page_streams import Page, grant_of, stream_to
from tests.rooms.conftest import ASK
from tests.rooms.test_admin import room_form
from tests.rooms.test_checks import found

Ask = Callable[..., Question]
PAGE = "/rooms/lab/manage/members"


class OwnGroups(Permissions):
    """Managers find only the groups that they are in."""

    def groups(self, user: Any, room: Room) -> Any:
        return super().groups(user, room).filter(user=user)


@pytest.fixture
def platform(ana: Any, ben: Any) -> Group:
    """Ana's and Ben's group."""
    group = Group.objects.create(name="Platform team")
    group.user_set.add(ana, ben)
    return group


@pytest.fixture
def lab(other_room: Room, platform: Group) -> Room:
    """A room whose only members are the people of the group."""
    lifecycle.add_group(other_room, platform, "member")
    return other_room


@pytest.fixture
def managed(lab: Room) -> Room:
    """The same room; the group manages it."""
    GroupMembership.objects.update(role="manager")
    return lab


@pytest.fixture
def cleo(db: None) -> Any:
    return get_user_model().objects.create_user("cleo")


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


# ---- what people may do ----------------------------------------------------------------------------------


def test_people_of_a_group_see_the_room_and_others_do_not(browser: Client, lab: Room, cleo: Any) -> None:
    assert browser.get("/rooms/lab").status_code == 200
    assert "Laboratory" in browser.get("/").content.decode()
    assert signed_in(cleo).get("/rooms/lab").status_code == 404


def test_who_leaves_the_group_loses_the_room_and_who_joins_it_gets_it(
    browser: Client, lab: Room, platform: Group, ana: Any, cleo: Any
) -> None:
    platform.user_set.remove(ana)
    platform.user_set.add(cleo)
    assert browser.get("/rooms/lab").status_code == 404
    assert signed_in(cleo).get("/rooms/lab").status_code == 200


def test_managing_group_has_the_settings_of_the_room(browser: Client, managed: Room) -> None:
    assert browser.get(PAGE).status_code == 200
    GroupMembership.objects.update(role="member")
    assert browser.get(PAGE).status_code == 404


def test_higher_role_counts_of_a_person_with_two(lab: Room, platform: Group, ana: Any) -> None:
    lifecycle.add_member(lab, ana, "manager", by=ana)
    other = Group.objects.create(name="Guests")
    other.user_set.add(ana)
    lifecycle.add_group(lab, other, "member")
    assert membership.is_manager(lab, ana)
    assert membership.roles_of(ana) == (
        {lab.pk},
        {lab.pk},
        {(lab.pk, "Platform team"), (lab.pk, "Guests")},
    )
    Membership.objects.all().delete()
    GroupMembership.objects.filter(group=other).update(role="manager")
    assert membership.is_manager(lab, ana)


def test_managers_are_named_and_archived_rooms_restored(browser: Client, managed: Room, ben: Any) -> None:
    assert access.manager_names(managed) == ["Ana Costa", "ben"]
    lifecycle.archive_room(managed)
    assert access.archived_rooms(ben) == [managed]


def test_first_asked_role_holds_for_the_people_of_a_group(lab: Room, ana: Any, cleo: Any) -> None:
    lifecycle.add_member(lab, cleo, "manager", by=cleo)
    lab.care = {"first": {"people": [], "role": "manager"}, "escalate_seconds": 60}
    lab.save()
    key, _ = access.create_key(lab, label="bot")
    question, _ = lifecycle.ask(lab, key, parse_ask(ASK))
    assert not lifecycle.may_decide(question, ana)
    assert locks.lock_on(question, locks.standing_of(ana, [lab]))
    GroupMembership.objects.update(role="manager")
    assert lifecycle.may_decide(question, ana)
    assert locks.lock_on(question, locks.standing_of(ana, [lab])) is None


def test_who_is_here_goes_by_groups(lab: Room, ana: Any, cleo: Any) -> None:
    presence.renew([ana.pk, cleo.pk])
    assert [person.name for person in presence.people_in([lab])[lab.pk]] == ["Ana Costa"]


def test_people_of_a_group_are_notified(lab: Room, ana: Any, cleo: Any) -> None:
    for user in (ana, cleo):
        user.email = f"{user.username}@example.org"
        user.save()
        NoticePreferences.objects.create(pk=user.pk, mail=AT_ONCE)
    key, _ = access.create_key(lab, label="bot")
    planner.read()
    lifecycle.ask(lab, key, parse_ask(ASK))
    planner.read()
    assert [notice.user_id for notice in Notice.objects.all()] == [ana.pk]


def test_group_of_an_invited_person_leads_straight_to_the_room(browser: Client, lab: Room, ben: Any) -> None:
    root = get_user_model().objects.create_superuser("root")
    invitation, token = lifecycle.create_invitation(lab, root, days=7, max_uses=1)
    for send in (browser.get, browser.post):
        assert send(f"/join/{token}")["Location"] == f"/rooms/{lab.slug}"
    invitation.refresh_from_db()
    # The group stays the only reason: who leaves it loses the room.
    assert (invitation.uses, lab.memberships.count()) == (0, 0)


# ---- cost ------------------------------------------------------------------------------------------------


def test_queries_do_not_grow_with_groups_and_people(browser: Client, lab: Room, ana: Any) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            browser.get("/rooms/lab")
            browser.get("/")
            presence.people_in([lab])
        return len(queries)

    presence.renew([ana.pk])
    browser.get("/rooms/lab")
    before = count()
    for number in range(10):
        group = Group.objects.create(name=f"Group {number}")
        user = get_user_model().objects.create_user(f"person-{number}")
        group.user_set.add(ana, user)
        presence.renew([user.pk])
        lifecycle.add_group(lab, group, "manager")
    assert count() == before


def test_own_membership_needs_one_query(room: Room, ana: Any, django_assert_num_queries: Any) -> None:
    permissions().may_see(ana, room)
    with django_assert_num_queries(1):
        assert permissions().may_see(ana, room)
    with django_assert_num_queries(1):
        membership.roles_of(ana)


# ---- managers and the audit ------------------------------------------------------------------------------


def test_managers_find_and_add_a_group(browser: Client, managed: Room, platform: Group) -> None:
    guests = Group.objects.create(name="Guests of ours")
    page = browser.get(PAGE, {"q": "guests"}).content.decode()
    assert f'name="group" value="{guests.pk}"' in page
    assert "Group with 0 people" in page
    browser.post(f"{PAGE}/add", {"group": guests.pk, "role": "member"})
    page = browser.get(PAGE).content.decode()
    assert "Guests of ours" in page
    assert "Group with 2 people · Manager" in page
    assert "2 groups, 2 manage" in page
    entry = AuditEntry.objects.last()
    assert entry is not None
    assert (entry.action, entry.actor, entry.subject) == ("member_added", "ana", f"group:{guests.pk}")
    assert entry.details["group"] == "Guests of ours"
    assert entry.details["role"] == "member"


def test_removal_of_a_person_says_that_a_group_may_keep_them(
    browser: Client, managed: Room, platform: Group, ben: Any
) -> None:
    lifecycle.add_member(managed, ben, "member", by=ben)
    assert "unless they are in one of its groups" in browser.get(PAGE).content.decode()
    managed.group_memberships.all().delete()
    Membership.objects.filter(room=managed).update(role="manager")
    browser.force_login(ben)
    assert "unless they are in one of its groups" not in browser.get(PAGE).content.decode()


def test_change_and_removal_are_recorded(browser: Client, managed: Room, room: Room, ana: Any) -> None:
    lifecycle.add_member(managed, ana, "manager", by=ana)
    group = GroupMembership.objects.get()
    browser.post(f"{PAGE}/role", {"group": group.pk, "role": "member"})
    browser.post(f"{PAGE}/remove", {"group": group.pk})
    entries = AuditEntry.objects.filter(subject=group.audit_subject).order_by("pk")
    assert [(entry.action, entry.details["role"]) for entry in entries][1:] == [
        ("member_changed", "member"),
        ("member_removed", "member"),
    ]
    assert not GroupMembership.objects.exists()


def test_last_managers_cannot_remove_themselves(browser: Client, managed: Room) -> None:
    reply = browser.post(f"{PAGE}/remove", {"group": GroupMembership.objects.get().pk})
    assert reply.status_code == 409
    assert GroupMembership.objects.exists()


def test_portal_says_which_groups_a_manager_may_add(browser: Client, managed: Room, settings: Any) -> None:
    guests = Group.objects.create(name="Guests")
    settings.ASK_BRIDGE = {"PERMISSIONS": "tests.rooms.test_groups.OwnGroups"}
    assert "Guests" not in browser.get(PAGE, {"q": "gues"}).content.decode().split("ab-found")[1]
    assert browser.post(f"{PAGE}/add", {"group": guests.pk}).status_code == 404
    assert browser.post(f"{PAGE}/add", {"group": "x" * 200}).status_code == 404


def test_group_of_another_room_is_out_of_reach(browser: Client, managed: Room, room: Room) -> None:
    foreign = GroupMembership.objects.create(room=room, group=Group.objects.create(name="Others"))
    assert browser.post(f"{PAGE}/remove", {"group": foreign.pk}).status_code == 404
    assert browser.post(f"{PAGE}/role", {"group": "-1"}).status_code == 404


def test_deleted_group_ends_its_memberships_and_says_so(lab: Room, platform: Group, ana: Any) -> None:
    platform.delete()
    assert not membership.is_member(lab, ana)
    last = AuditEntry.objects.last()
    assert last is not None
    assert (last.action, last.details["group"]) == ("member_removed", "Platform team")


def test_audit_notices_a_role_that_was_changed_behind_its_back(lab: Room) -> None:
    call_command("verify_audit", stdout=StringIO())
    GroupMembership.objects.update(role="manager")
    said = StringIO()
    with pytest.raises(CommandError):
        call_command("verify_audit", stdout=said)
    assert said.getvalue() == "The group Platform team is manager of lab; the last entry says: member.\n"


def test_admin_adds_a_group_on_the_page_of_the_room(lab: Room) -> None:
    browser = signed_in(get_user_model().objects.create_superuser("root"))
    guests = Group.objects.create(name="Guests")
    row = GroupMembership.objects.get()
    given = {
        "name": "Laboratory",
        "slug": "lab",
        "group_memberships-0-id": str(row.pk),
        "group_memberships-0-room": str(lab.pk),
        "group_memberships-0-group": str(row.group_id),
        "group_memberships-0-role": "member",
        "group_memberships-1-group": str(guests.pk),
        "group_memberships-1-role": "manager",
    }
    reply = browser.post(f"/admin/ask_bridge/room/{lab.pk}/change/", room_form(lab, **given))
    assert reply.status_code == 302
    assert GroupMembership.objects.get(group=guests).role == "manager"
    last = AuditEntry.objects.filter(action="member_added").last()
    assert last is not None
    assert last.actor == "root"


def test_createroom_adds_groups(platform: Group, ana: Any) -> None:
    said = StringIO()
    call_command("createroom", "plan", "--group", "Platform team", stdout=said)
    call_command("createroom", "plan", "--group", "Platform team", stdout=said)
    assert "The group Platform team is now a member." in said.getvalue()
    assert "The group Platform team is already a member." in said.getvalue()
    assert access.may_see(ana, Room.objects.get(slug="plan"))
    with pytest.raises(CommandError, match="no group called “Nobody”"):
        call_command("createroom", "other", "--group", "Nobody")
    assert not Room.objects.filter(slug="other").exists()


# ---- other user models -----------------------------------------------------------------------------------


def test_users_without_groups_have_rooms_of_single_people(
    browser: Client, room: Room, ana: Any, ben: Any, monkeypatch: Any
) -> None:
    users = get_user_model()._meta
    plain = [field for field in users.many_to_many if field.name != "groups"]
    monkeypatch.setattr(users, "get_field", hiding("groups", users.get_field))
    monkeypatch.setitem(users.__dict__, "many_to_many", plain)
    room.memberships.filter(user=ana).update(role="manager")
    assert access.may_see(ben, room)
    assert membership.roles_of(ana).groups == frozenset()
    assert access.manager_names(room) == ["Ana Costa"]
    assert presence.people_in([room]) == {room.pk: []}
    page = browser.get("/rooms/ops/manage/members", {"q": "plat"}).content.decode()
    assert "Add a person or a group" not in page
    assert browser.get("/").status_code == 200
    with pytest.raises(CommandError, match="has no groups"):
        call_command("createroom", "other", "--group", "Anyone")


def hiding(name: str, get_field: Callable[[str], Any]) -> Callable[[str], Any]:
    def without(field: str) -> Any:
        if field == name:
            raise FieldDoesNotExist
        return get_field(field)

    return without


def test_groups_of_another_model_are_warned_of(db: None, settings: Any, monkeypatch: Any) -> None:
    settings.SILENCED_SYSTEM_CHECKS = []
    assert "ask_bridge.W020" not in found()
    monkeypatch.setattr(membership, "group_model", lambda: Room)
    warning = found()["ask_bridge.W020"]
    assert 'ASK_BRIDGE = {"GROUP_MODEL": "auth.Group"}' in str(warning.hint)
    assert membership.belonging() is None


# ---- open pages ------------------------------------------------------------------------------------------


def test_only_the_older_of_two_pages_is_outdated(lab: Room, ana: Any) -> None:
    before = locks.standing_of(ana, [lab])
    GroupMembership.objects.update(role="manager")
    now = locks.standing_of(ana, [lab])
    assert locks.outdated([(ana.pk, before), (ana.pk, now)]) == {(ana.pk, before)}


def test_a_deleted_room_ends_its_audit_log_with_its_deletion(lab: Room, ana: Any) -> None:
    chain = lab.pk
    lifecycle.delete_rooms([lab], by=ana)
    last = AuditEntry.objects.filter(chain=chain).order_by("-pk").first()
    assert last
    assert last.action == "room_deleted"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("change", "reloads"),
    [
        (lambda group, ana: GroupMembership.objects.update(role="manager"), True),
        (lambda group, ana: group.user_set.remove(ana), True),
        (lambda group, ana: group.user_set.add(get_user_model().objects.create_user("cleo")), False),
    ],
    ids=["another role", "left the group", "another person joined"],
)
def test_open_page_follows_the_group(
    lab: Room, platform: Group, ana: Any, change: Callable[..., Any], reloads: bool
) -> None:
    lab.is_open = True  # who leaves the group still sees it: only what they may do changes
    lab.save()
    page = Page()

    async def scene() -> None:
        grant = replace(grant_of(ana.pk, [lab]), standing=await in_database(locks.standing_of, ana, [lab]))
        stream = stream_to(page, grant)
        await hub.add_stream(stream, [lab])
        stream._early = None
        await rechecks.recheck_access()
        assert not stream.is_ending
        await in_database(change, platform, ana)
        await rechecks.recheck_access()
        try:
            assert stream.is_ending is reloads
            if reloads:
                await page.until_sent(b"event: reset")
        finally:
            hub.remove_stream(stream)
            await close_pool_connections()

    asyncio.run(scene())
