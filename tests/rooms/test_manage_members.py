"""Members on the page of a room's managers: find, add, change, remove; others learn nothing about users."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from rooms import access, lifecycle
from rooms.models import AuditEntry, Membership, Room
from rooms.permissions import Permissions

PAGE = "/rooms/ops/manage/members"


class OwnTeam(Permissions):
    """Managers find only people whose user name begins with their own first letter."""

    def people(self, user: Any, room: Room) -> Any:
        return super().people(user, room).filter(username__startswith=user.username[0])


@pytest.fixture
def manager(browser: Client, room: Room, ana: Any) -> Client:
    """Ana's browser; she manages the room."""
    Membership.objects.filter(room=room, user=ana).update(role="manager")
    return browser


@pytest.fixture
def cleo(db: None) -> Any:
    return get_user_model().objects.create_user(
        "cleo", "cleo@example.org", first_name="Cleo", last_name="Marchetti"
    )


def found(client: Client, query: str) -> list[str]:
    html = client.get(PAGE, {"q": query}).content.decode()
    return [
        user.username for user in get_user_model().objects.all() if f'name="user" value="{user.pk}"' in html
    ]


def role_of(room: Room, user: Any) -> str | None:
    return Membership.objects.filter(room=room, user=user).values_list("role", flat=True).first()


# ---- finding ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["cleo", "CLE", "marchetti", "cleo march", "Cleo@Example.org", " cleo "])
def test_people_are_found_by_name_user_name_or_address(manager: Client, cleo: Any, query: str) -> None:
    assert found(manager, query) == ["cleo"]


@pytest.mark.parametrize("query", ["", "c", "@example.org", "cleo@", "cleo ben", "\x00", "%", "__"])
def test_a_part_of_an_address_or_a_single_letter_finds_no_person(
    manager: Client, cleo: Any, query: str
) -> None:
    assert found(manager, query) == []


def test_a_search_shows_few_people_and_no_addresses(manager: Client, cleo: Any) -> None:
    users = get_user_model().objects
    for number in range(15):
        users.create_user(f"worker-{number:02}", f"secret-{number}@example.org")
    assert len(found(manager, "worker")) == 10
    html = manager.get(PAGE, {"q": "worker"}).content.decode()
    assert "secret-" not in html


def test_inactive_people_are_not_found(manager: Client, cleo: Any) -> None:
    cleo.is_active = False
    cleo.save()
    assert found(manager, "cleo") == []
    assert manager.post(f"{PAGE}/add", {"user": cleo.pk}).status_code == 404


def test_a_member_is_shown_with_their_role_instead_of_a_button(manager: Client, ben: Any) -> None:
    assert found(manager, "ben") == []
    assert "Member" in manager.get(PAGE, {"q": "ben"}).content.decode()


def test_who_does_not_manage_the_room_learns_nothing(
    browser: Client, room: Room, cleo: Any, ana: Any
) -> None:
    """Ana is only a member: what exists and what does not get the same reply."""
    known, unknown = (browser.get(PAGE, {"q": name}) for name in ("cleo", "nobody"))
    assert (known.status_code, known.content) == (404, unknown.content)
    known, unknown = (browser.post(f"{PAGE}/add", {"user": key}) for key in (cleo.pk, 999_999))
    assert (known.status_code, known.content) == (404, unknown.content)
    assert access.find_people(ana, room, "nobody") == []
    assert role_of(room, cleo) is None


def test_the_rules_of_a_portal_say_who_is_found(manager: Client, cleo: Any, settings: Any) -> None:
    settings.ASK_BRIDGE = {"PERMISSIONS": f"{__name__}.{OwnTeam.__name__}"}
    amy = get_user_model().objects.create_user("amy", last_name="Marchetti")
    assert found(manager, "marchetti") == ["amy"]
    assert manager.post(f"{PAGE}/add", {"user": cleo.pk}).status_code == 404
    assert manager.post(f"{PAGE}/add", {"user": amy.pk}).status_code == 303


# ---- adding, changing, removing --------------------------------------------------------------------------


@pytest.mark.parametrize(("sent", "role"), [("member", "member"), ("manager", "manager"), ("root", "member")])
def test_a_person_is_added_with_an_audit_entry(
    manager: Client, room: Room, cleo: Any, sent: str, role: str
) -> None:
    assert manager.post(f"{PAGE}/add", {"user": cleo.pk, "role": sent}).status_code == 303
    assert role_of(room, cleo) == role
    entry = AuditEntry.objects.filter(action="member_added").last()
    assert entry
    assert (entry.actor, entry.details["user"], entry.details["role"]) == ("ana", "cleo", role)
    # Sent again, also with another role: the membership stays.
    manager.post(f"{PAGE}/add", {"user": cleo.pk, "role": "manager"})
    assert role_of(room, cleo) == role


@pytest.mark.parametrize("key", ["", "x", "0", "-1", "9" * 30, "1 OR 1=1", "\x00"])
def test_a_person_who_does_not_exist_cannot_be_added(manager: Client, room: Room, key: str) -> None:
    assert manager.post(f"{PAGE}/add", {"user": key}).status_code == 404
    assert Membership.objects.count() == 2


def test_a_role_is_changed_and_a_member_removed(manager: Client, room: Room, ben: Any) -> None:
    membership = Membership.objects.get(room=room, user=ben)
    for role in ("manager", "member"):
        assert manager.post(f"{PAGE}/role", {"member": membership.pk, "role": role}).status_code == 303
        assert role_of(room, ben) == role
    assert manager.post(f"{PAGE}/remove", {"member": membership.pk}).status_code == 303
    assert role_of(room, ben) is None
    entries = AuditEntry.objects.filter(actor="ana").values_list("action", "details__role")
    assert list(entries) == [
        ("member_changed", "manager"),
        ("member_changed", "member"),
        ("member_removed", "member"),
    ]
    # Sent again: the member is gone.
    assert manager.post(f"{PAGE}/remove", {"member": membership.pk}).status_code == 404


def test_a_member_of_another_room_is_not_reached(manager: Client, other_room: Room, cleo: Any) -> None:
    foreign = Membership.objects.create(room=other_room, user=cleo, role="manager")
    for verb in ("role", "remove"):
        assert manager.post(f"{PAGE}/{verb}", {"member": foreign.pk}).status_code == 404
    assert role_of(other_room, cleo) == "manager"


@pytest.mark.parametrize(("verb", "fields"), [("role", {"role": "member"}), ("remove", {})])
def test_the_only_manager_stays(
    manager: Client, room: Room, ana: Any, verb: str, fields: dict[str, str]
) -> None:
    own = Membership.objects.get(room=room, user=ana)
    reply = manager.post(f"{PAGE}/{verb}", {"member": own.pk, **fields})
    assert reply.status_code == 409
    assert "This is the only manager of the room" in reply.content.decode()
    assert role_of(room, ana) == "manager"
    assert not AuditEntry.objects.filter(actor="ana").exists()


def test_a_superuser_may_remove_the_only_manager(room: Room, manager: Client, ana: Any) -> None:
    admin = get_user_model().objects.create_superuser("root")
    lifecycle.remove_member(Membership.objects.get(room=room, user=ana), by=admin)
    assert role_of(room, ana) is None


def test_two_managers_cannot_remove_each_other(room: Room, ana: Any, ben: Any) -> None:
    """Both requests were let in before either was carried out."""
    Membership.objects.filter(room=room).update(role="manager")
    of_ana, of_ben = (Membership.objects.get(room=room, user=user) for user in (ana, ben))
    lifecycle.remove_member(of_ben, by=ana)
    with pytest.raises(lifecycle.LastManager):
        lifecycle.remove_member(of_ana, by=ben)
    assert role_of(room, ana) == "manager"


def test_a_manager_who_leaves_is_led_to_a_page_that_they_may_see(
    manager: Client, room: Room, ana: Any, ben: Any
) -> None:
    Membership.objects.filter(room=room, user=ben).update(role="manager")
    own = Membership.objects.get(room=room, user=ana)
    assert manager.post(f"{PAGE}/role", {"member": own.pk, "role": "member"})["Location"] == "/rooms/ops"
    Membership.objects.filter(pk=own.pk).update(role="manager")
    assert manager.post(f"{PAGE}/remove", {"member": own.pk})["Location"] == "/"
    assert manager.get("/rooms/ops").status_code == 404


def test_the_list_has_pages(manager: Client, room: Room) -> None:
    users = get_user_model().objects
    for number in range(60):
        lifecycle.add_member(
            room, users.create_user(f"worker-{number:02}"), "member", by=room.memberships.first().user
        )
    first, second = (manager.get(PAGE, {"page": number}).content.decode() for number in (1, 2))
    assert first.count('name="member"') == 100  # a form for the role and one to remove, for each of 50
    assert second.count('name="member"') == 24
    assert "62 people" in first
    # Also below the reply of a form, which has another address.
    told = manager.post(f"{PAGE}/invite", {"days": "7", "max_uses": "5"}).content.decode()
    assert f'href="{PAGE}?page=2#ab-members"' in told


def test_a_manager_who_cannot_sign_in_does_not_count_as_one(
    room: Room, manager: Client, ana: Any, ben: Any
) -> None:
    Membership.objects.filter(room=room, user=ben).update(role="manager")
    type(ben).objects.filter(pk=ben.pk).update(is_active=False)
    reply = manager.post(f"{PAGE}/remove", {"member": Membership.objects.get(room=room, user=ana).pk})
    assert reply.status_code == 409
    assert role_of(room, ana) == "manager"
