"""The settings of a room for its managers: general, care, keys, archive. For others they do not exist."""

import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from rooms import lifecycle
from rooms.models import AgentKey, AuditEntry, Membership, Question, Room

PAGES = ("", "/members", "/care", "/keys", "/retention", "/archive")


@pytest.fixture
def manager(browser: Client, room: Room, ana: Any) -> Client:
    """Ana's browser; she manages the room."""
    Membership.objects.filter(room=room, user=ana).update(role="manager")
    return browser


def text_of(reply: Any) -> str:
    return reply.content.decode()


def test_only_managers_see_the_settings(manager: Client, room: Room, ben: Any) -> None:
    assert "Room settings" in text_of(manager.get("/rooms/ops"))
    other = Client()
    other.force_login(ben)
    assert "Room settings" not in text_of(other.get("/rooms/ops"))
    for page in PAGES:
        assert manager.get(f"/rooms/ops/manage{page}").status_code == 200
        foreign, missing = (other.get(f"/rooms/{slug}/manage{page}") for slug in ("ops", "nowhere"))
        assert (foreign.status_code, foreign.content) == (404, missing.content)


def test_a_superuser_sees_the_settings_of_every_room(room: Room) -> None:
    admin = Client()
    admin.force_login(get_user_model().objects.create_superuser("root"))
    assert [admin.get(f"/rooms/ops/manage{page}").status_code for page in PAGES] == [200] * len(PAGES)


def test_every_section_links_to_the_others(manager: Client) -> None:
    for path in (*(f"/rooms/ops/manage{page}" for page in PAGES), "/rooms/ops/webhooks"):
        html = text_of(manager.get(path))
        nav = re.search(r'<nav class="ab-sections".*?</nav>', html, re.DOTALL)
        assert nav
        assert len(re.findall("<a ", nav[0])) == 7
        assert re.search(rf'<a href="{path}" aria-current="page"', nav[0])


# ---- general ---------------------------------------------------------------------------------------------


def general(client: Client, **fields: str) -> Any:
    sent = {"name": "Operations", "is_open": "", "close_after_seconds": "86400", **fields}
    return client.post("/rooms/ops/manage", sent)


def test_a_change_is_saved_with_its_audit_entry(manager: Client, room: Room) -> None:
    before = room.revision
    reply = general(manager, name="  Night   shift ", is_open="on")
    assert reply.status_code == 303
    room.refresh_from_db()
    assert (room.name, room.is_open, room.slug, room.revision) == ("Night shift", True, "ops", before)
    entry = AuditEntry.objects.get(action="room_changed")
    assert (entry.actor, entry.details) == ("ana", {"name": "Night shift", "is_open": True})
    assert "Saved." in text_of(manager.get(reply["Location"]))


def test_nothing_changed_writes_no_entry(manager: Client) -> None:
    assert general(manager).status_code == 303
    assert not AuditEntry.objects.filter(action="room_changed").exists()


@pytest.mark.parametrize(("sent", "stored"), [("600", 600), ("never", None)])
def test_when_stale_questions_are_closed(manager: Client, room: Room, sent: str, stored: int | None) -> None:
    general(manager, close_after_seconds=sent)
    room.refresh_from_db()
    assert room.close_after_seconds == stored
    assert AuditEntry.objects.get(action="room_changed").details == {"close_after_seconds": stored}


@pytest.mark.parametrize("fields", [{"name": ""}, {"name": "x" * 81}, {"close_after_seconds": "1"}])
def test_a_wrong_value_changes_nothing(manager: Client, room: Room, fields: dict[str, str]) -> None:
    reply = general(manager, is_open="on", **fields)
    assert reply.status_code == 422
    assert 'role="alert"' in text_of(reply)
    assert "Operations" in text_of(reply)
    room.refresh_from_db()
    assert (room.name, room.is_open, room.close_after_seconds) == ("Operations", False, 86400)


# ---- care ------------------------------------------------------------------------------------------------


def test_care_is_saved_as_in_the_admin(manager: Client, room: Room) -> None:
    sent = {"first_role": "", "first_people": "ana, ben", "votes_needed": "2", "undo_seconds": "30"}
    assert manager.post("/rooms/ops/manage/care", sent).status_code == 303
    room.refresh_from_db()
    assert room.care["first"]["people"] == ["ana", "ben"]
    assert (room.care["votes"]["needed"], room.care["undo_seconds"]) == (2, 30)
    entry = AuditEntry.objects.get(action="room_changed")
    assert (entry.actor, entry.details["care"]) == ("ana", room.care)
    page = text_of(manager.get("/rooms/ops/manage/care"))
    assert 'value="ana, ben"' in page
    assert "Members: ana, ben" in page
    # A person who cannot sign in would be refused.
    get_user_model().objects.filter(username="ben").update(is_active=False)
    assert "Members: ana<" in text_of(manager.get("/rooms/ops/manage/care"))


def test_a_name_that_cannot_answer_is_refused_at_its_field(manager: Client, room: Room) -> None:
    reply = manager.post("/rooms/ops/manage/care", {"first_people": "cleo"})
    assert reply.status_code == 422
    assert "cannot answer in this room" in text_of(reply)
    room.refresh_from_db()
    assert room.care is None


# ---- keys ------------------------------------------------------------------------------------------------


def test_a_key_is_created_with_its_scopes_and_shown_once(manager: Client) -> None:
    sent = {"label": "Deploy bot", "scopes": "ask", "expires_in_days": "7"}
    shown = text_of(manager.post("/rooms/ops/manage/keys", sent))
    key = AgentKey.objects.get()
    assert (key.label, key.scopes, bool(key.expires_at)) == ("Deploy bot", ["ask"], True)
    secret = re.search(rf"abk_{key.lookup}_[0-9a-z]{{40}}", shown)
    assert secret
    assert secret[0] not in text_of(manager.get("/rooms/ops/manage/keys"))
    assert AuditEntry.objects.filter(action="key_created", actor="ana").exists()


def test_a_key_is_rotated_and_revoked(manager: Client, key: tuple[AgentKey, str]) -> None:
    old = key[0].lookup
    assert re.search(
        r"abk_[0-9a-z]{10}_[0-9a-z]{40}", text_of(manager.post("/rooms/ops/manage/keys/rotate", {"key": old}))
    )
    assert AgentKey.objects.count() == 2
    assert manager.post("/rooms/ops/manage/keys/revoke", {"key": old}).status_code == 303
    assert AgentKey.objects.get(lookup=old).revoked_at is not None
    # Sent again: nothing to rotate any more.
    assert manager.post("/rooms/ops/manage/keys/rotate", {"key": old}).status_code == 303


def test_a_key_of_another_room_does_not_exist(manager: Client, foreign_agent: Any) -> None:
    lookup = foreign_agent.key_row.lookup
    for verb in ("rotate", "revoke"):
        assert manager.post(f"/rooms/ops/manage/keys/{verb}", {"key": lookup}).status_code == 404
    assert AgentKey.objects.get(lookup=lookup).is_alive


def test_keys_per_minute_are_limited(manager: Client, settings: Any) -> None:
    settings.ASK_BRIDGE = {"KEYS_PER_MINUTE": 1}
    manager.post("/rooms/ops/manage/keys", {"label": "one"})
    reply = manager.post("/rooms/ops/manage/keys", {"label": "two"})
    assert (reply.status_code, AgentKey.objects.count()) == (429, 1)


# ---- archive ---------------------------------------------------------------------------------------------


def test_archiving_says_first_what_happens(manager: Client, ask: Any) -> None:
    ask()
    ask(question="Another?")
    page = text_of(manager.get("/rooms/ops/manage/archive"))
    assert "2 open questions will be withdrawn" in page
    assert "1 key will stop working." in page


def test_an_archived_room_can_be_restored_by_its_manager(manager: Client, ask: Any, room: Room) -> None:
    question: Question = ask()
    reply = manager.post("/rooms/ops/manage/archive", {"archive": "on"})
    assert reply.status_code == 303
    question.refresh_from_db()
    assert question.status == "withdrawn"
    assert manager.get("/rooms/ops").status_code == 404
    assert "is archived" in text_of(manager.get(reply["Location"]))
    assert manager.get("/rooms/ops/manage")["Location"] == "/rooms/ops/manage/archive"
    assert [manager.get(f"/rooms/ops/manage/{part}").status_code for part in ("members", "care", "keys")] == [
        404
    ] * 3
    assert "Operations" in text_of(manager.get("/rooms/archived"))
    assert manager.post("/rooms/ops/manage/archive", {"archive": "off"}).status_code == 303
    assert manager.get("/rooms/ops").status_code == 200
    assert list(AuditEntry.objects.filter(action__startswith="room_").values_list("action", "actor")) == [
        ("room_created", ""),
        ("room_archived", "ana"),
        ("room_restored", "ana"),
    ]


def test_others_do_not_see_archived_rooms(room: Room, browser: Client) -> None:
    lifecycle.archive_room(room)
    assert "Operations" not in text_of(browser.get("/rooms/archived"))
    assert browser.post("/rooms/ops/manage/archive", {"archive": "off"}).status_code == 404
    room.refresh_from_db()
    assert room.archived_at
