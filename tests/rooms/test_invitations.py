"""Invitation links: created and shown once, limited in time and uses, revocable, and safe in a race."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from rooms import lifecycle
from rooms.models import AuditEntry, Invitation, Membership, Room
from tests.rooms.test_manage_members import OwnTeam

PAGE = "/rooms/ops/manage/members"
LINK = re.compile(r"http://testserver(/join/[0-9a-z]{42})")
DOES_NOT_WORK = "This invitation does not work"


@pytest.fixture
def manager(browser: Client, room: Room, ana: Any) -> Client:
    """Ana's browser; she manages the room."""
    lifecycle.change_role(Membership.objects.get(room=room, user=ana), "manager", by=ana)
    return browser


@pytest.fixture
def guest(db: None) -> Client:
    """The browser of Cleo, who is no member."""
    client = Client()
    client.force_login(get_user_model().objects.create_user("cleo"))
    return client


@pytest.fixture
def link(manager: Client) -> str:
    """A link for one person."""
    return create(manager, max_uses="1")


def create(client: Client, **fields: str) -> str:
    html = client.post(f"{PAGE}/invite", {"days": "7", "max_uses": "5", **fields}).content.decode()
    found = LINK.search(html)
    assert found, html
    return found[1]


def is_member(name: str) -> bool:
    return Membership.objects.filter(room__slug="ops", user__username=name).exists()


# ---- creating and revoking -------------------------------------------------------------------------------


def test_a_link_is_shown_once_and_stored_as_a_hash(manager: Client) -> None:
    link = create(manager, days="1", max_uses="25")
    invitation = Invitation.objects.get()
    secret = link.removeprefix(f"/join/{invitation.lookup}")
    assert len(secret) == 32
    assert secret not in manager.get(PAGE).content.decode()
    assert secret not in str(Invitation.objects.values().get())
    assert secret not in str(list(AuditEntry.objects.values()))
    assert invitation.max_uses == 25
    assert timedelta(0) < invitation.ends_at - timezone.now() <= timedelta(days=1)
    entry = AuditEntry.objects.get(action="invitation_created")
    assert (entry.actor, entry.subject, entry.details["max_uses"]) == ("ana", invitation.lookup, 25)


@pytest.mark.parametrize("fields", [{"days": "365"}, {"max_uses": "0"}, {"max_uses": "1000"}, {"days": ""}])
def test_other_limits_are_refused(manager: Client, fields: dict[str, str]) -> None:
    reply = manager.post(f"{PAGE}/invite", {"days": "7", "max_uses": "5", **fields})
    assert reply.status_code == 422
    assert not Invitation.objects.exists()


def test_a_room_has_a_limited_number_of_links(manager: Client) -> None:
    for _ in range(20):
        create(manager)
    reply = manager.post(f"{PAGE}/invite", {"days": "7", "max_uses": "5"})
    assert reply.status_code == 422
    assert "revoke one first" in reply.content.decode()


def test_only_managers_create_and_revoke(browser: Client, room: Room, ben: Any) -> None:
    invitation, _ = lifecycle.create_invitation(room, ben, days=7, max_uses=5)
    for verb in ("invite", "revoke"):
        sent = {"days": "7", "max_uses": "5", "invitation": invitation.lookup}
        assert browser.post(f"{PAGE}/{verb}", sent).status_code == 404
    invitation.refresh_from_db()
    assert (Invitation.objects.count(), invitation.revoked_at) == (1, None)


def test_a_link_of_another_room_is_not_revoked(manager: Client, other_room: Room, ben: Any) -> None:
    foreign, _ = lifecycle.create_invitation(other_room, ben, days=7, max_uses=5)
    assert manager.post(f"{PAGE}/revoke", {"invitation": foreign.lookup}).status_code == 404
    foreign.refresh_from_db()
    assert foreign.revoked_at is None


# ---- joining ---------------------------------------------------------------------------------------------


def test_a_signed_out_person_comes_back_after_the_login(link: str) -> None:
    reply = Client().get(link)
    assert (reply.status_code, reply["Location"]) == (302, f"/login/?next={link}")


def test_opening_the_link_asks_and_the_button_joins(guest: Client, link: str) -> None:
    page = guest.get(link).content.decode()
    assert "Join Operations" in page
    assert "Ana Costa invites you" in page
    assert not is_member("cleo")
    reply = guest.post(link)
    assert reply["Location"] == "/rooms/ops"
    assert guest.get("/rooms/ops").status_code == 200
    assert Membership.objects.get(user__username="cleo").role == "member"
    actions = list(AuditEntry.objects.filter(actor="cleo").values_list("action", flat=True))
    assert actions == ["member_added", "invitation_used"]
    assert Invitation.objects.get().uses == 1


def test_a_member_is_led_to_the_room_and_counts_no_use(guest: Client, manager: Client, link: str) -> None:
    for client in (manager, guest):
        client.post(link)
    # The only use was Cleo's; both still come to the room.
    assert Invitation.objects.get().uses == 1
    for client in (manager, guest):
        assert client.get(link)["Location"] == client.post(link)["Location"] == "/rooms/ops"
    assert Invitation.objects.get().uses == 1
    assert AuditEntry.objects.filter(action="invitation_used").count() == 1


def end(**fields: Any) -> Callable[[], Any]:
    return lambda: Invitation.objects.update(**fields)


@pytest.mark.parametrize(
    "make_useless",
    [
        end(uses=1),
        end(ends_at=timezone.now() - timedelta(seconds=1)),
        end(revoked_at=timezone.now()),
        end(created_by=None),
        lambda: Membership.objects.filter(user__username="ana").update(role="member"),
        lambda: get_user_model().objects.filter(username="ana").update(is_active=False),
        lambda: lifecycle.archive_room(Room.objects.get(slug="ops")),
        lambda: Invitation.objects.all().delete(),
    ],
    ids=[
        "used up",
        "ended",
        "revoked",
        "author deleted",
        "author no manager",
        "author inactive",
        "archived",
        "none",
    ],
)
def test_a_link_that_does_not_work_looks_like_one_that_never_existed(
    guest: Client, link: str, make_useless: Callable[[], Any]
) -> None:
    make_useless()
    for send in (guest.get, guest.post):
        reply = send(link)
        assert reply.status_code == 404
        assert DOES_NOT_WORK in reply.content.decode()
        assert "Operations" not in reply.content.decode()
    assert not is_member("cleo")


@pytest.mark.parametrize("change", ["last", "lookup", "short", "upper", "empty secret"])
def test_a_wrong_token_does_not_work(guest: Client, link: str, change: str) -> None:
    wrong = {
        "last": link[:-1] + ("0" if link[-1] != "0" else "1"),
        "lookup": "/join/" + "0" * 10 + link[16:],
        "short": link[:-1],
        "upper": link.upper().replace("/JOIN/", "/join/") + "X",
        "empty secret": link[:16],
    }[change]
    assert guest.get(wrong).status_code == guest.post(wrong).status_code == 404
    assert not is_member("cleo")


def test_the_log_of_a_link_that_does_not_work_has_no_token(
    guest: Client, link: str, caplog: pytest.LogCaptureFixture
) -> None:
    Invitation.objects.update(ends_at=timezone.now())
    caplog.set_level("WARNING", "django.request")  # as in a portal with Django's own logging
    guest.get(link)
    assert "/join/" in caplog.text
    assert link not in caplog.text


def test_a_revoked_link_stops_and_its_members_stay(manager: Client, guest: Client) -> None:
    link = create(manager)
    guest.post(link)
    lookup = Invitation.objects.get().lookup
    assert manager.post(f"{PAGE}/revoke", {"invitation": lookup}).status_code == 303
    assert is_member("cleo")
    other = Client()
    other.force_login(get_user_model().objects.create_user("dora"))
    assert other.post(link).status_code == 404
    assert AuditEntry.objects.filter(action="invitation_revoked", actor="ana").count() == 1
    # Sent again: no second entry.
    manager.post(f"{PAGE}/revoke", {"invitation": lookup})
    assert AuditEntry.objects.filter(action="invitation_revoked").count() == 1


def test_the_rules_of_a_portal_say_whom_a_link_is_for(guest: Client, link: str, settings: Any) -> None:
    settings.ASK_BRIDGE = {"PERMISSIONS": f"{OwnTeam.__module__}.{OwnTeam.__name__}"}
    assert guest.post(link).status_code == 404
    assert not is_member("cleo")


def test_a_link_works_after_a_change_of_the_secret_key(guest: Client, link: str, settings: Any) -> None:
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another secret of more than fifty characters, all random"
    guest.force_login(get_user_model().objects.get(username="cleo"))
    assert guest.post(link)["Location"] == "/rooms/ops"


def test_the_audit_log_is_intact_afterwards(
    manager: Client, guest: Client, link: str, capsys: pytest.CaptureFixture[str]
) -> None:
    guest.post(link)
    call_command("verify_audit")
    assert "All is well" in capsys.readouterr().out


def test_a_member_through_a_group_gets_no_membership_by_a_link(guest: Client, link: str) -> None:
    """Nor by one that works no more, because its author does not manage the room."""
    room, group = Room.objects.get(slug="ops"), Group.objects.create(name="guests")
    get_user_model().objects.get(username="cleo").groups.add(group)
    lifecycle.add_group(room, group, "member")
    for role in ("manager", "member"):
        Membership.objects.filter(user__username="ana").update(role=role)
        assert guest.post(link)["Location"] == "/rooms/ops"
    assert not is_member("cleo")
    assert Invitation.objects.get().uses == 0


def test_the_list_of_links_costs_no_queries_per_link(manager: Client, room: Room, ana: Any) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            manager.get(PAGE)
        return len(captured)

    create(manager)
    before = queries()
    for _ in range(10):
        lifecycle.create_invitation(room, ana, days=1, max_uses=5)
    assert queries() == before


# ---- races -----------------------------------------------------------------------------------------------


def at_once(*jobs: Callable[[], Any]) -> list[Any]:
    """Run the jobs in threads of their own, each with a database connection of its own."""

    def run(job: Callable[[], Any]) -> Any:
        try:
            return job()
        except lifecycle.InvitationEnded as ended:
            return ended
        finally:
            connection.close()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(run, jobs))


@pytest.fixture
def shared_room(transactional_db: None) -> Room:
    ana = get_user_model().objects.create_user("ana")
    room = lifecycle.create_room("ops")
    lifecycle.add_member(room, ana, "manager", by=ana)
    return room


def test_of_many_at_once_only_as_many_as_allowed_join(shared_room: Room) -> None:
    ana = get_user_model().objects.get(username="ana")
    invitation, _ = lifecycle.create_invitation(shared_room, ana, days=1, max_uses=5)
    people = [get_user_model().objects.create_user(f"guest-{number}") for number in range(12)]
    results = at_once(*(lambda user=user: lifecycle.join(invitation, user) for user in people))
    assert [result is None for result in results].count(True) == 5
    invitation.refresh_from_db()
    assert (invitation.uses, shared_room.memberships.count()) == (5, 6)


def test_a_double_click_counts_once(shared_room: Room) -> None:
    ana = get_user_model().objects.get(username="ana")
    invitation, _ = lifecycle.create_invitation(shared_room, ana, days=1, max_uses=5)
    guest = get_user_model().objects.create_user("guest")
    results = at_once(*[lambda: lifecycle.join(invitation, guest)] * 6)
    assert results == [None] * 6
    invitation.refresh_from_db()
    assert (invitation.uses, shared_room.memberships.count()) == (1, 2)
