"""Access: who may see and do what; foreign looks like missing."""

import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.http import Http404
from django.test import Client
from django.test.utils import CaptureQueriesContext

from rooms import access, lifecycle
from rooms.models import AgentKey, Membership, Question, Room

Key = tuple[AgentKey, str]


@pytest.fixture
def root(db: None) -> Any:
    return get_user_model().objects.create_superuser("root")


# ---- people --------------------------------------------------------------------------------------


def test_members_see_their_rooms_and_no_others(ana: Any, room: Room, other_room: Room) -> None:
    assert list(access.visible_rooms(ana)) == [room]


def test_open_room_is_seen_by_every_signed_in_user(ana: Any, room: Room) -> None:
    lobby = lifecycle.create_room("lobby", is_open=True)
    assert set(access.visible_rooms(ana)) == {room, lobby}
    stranger = get_user_model().objects.create_user("stranger")
    assert list(access.visible_rooms(stranger)) == [lobby]


def test_superuser_sees_every_room(root: Any, room: Room, other_room: Room) -> None:
    assert set(access.visible_rooms(root)) == {room, other_room}


def test_visitor_sees_nothing(db: None) -> None:
    lifecycle.create_room("lobby", is_open=True)
    assert list(access.visible_rooms(AnonymousUser())) == []


def test_deactivated_user_sees_nothing(ana: Any, room: Room) -> None:
    ana.is_active = False
    assert list(access.visible_rooms(ana)) == []


def test_archived_room_is_seen_by_no_one(ana: Any, root: Any, room: Room) -> None:
    lifecycle.archive_room(room)
    assert list(access.visible_rooms(ana)) == []
    assert list(access.visible_rooms(root)) == []


def test_member_of_an_open_room_sees_it_once(ana: Any) -> None:
    lobby = lifecycle.create_room("lobby", is_open=True, members=[ana])
    assert list(access.visible_rooms(ana)) == [lobby]


def test_foreign_room_is_missing(ana: Any, room: Room, other_room: Room) -> None:
    assert access.room_for(ana, "ops") == room
    foreign, missing = (_refusal(access.room_for, ana, slug) for slug in ("lab", "nowhere"))
    assert foreign == missing


def test_foreign_question_is_missing(ana: Any, question: Question, other_room: Room) -> None:
    assert access.question_for(ana, "ops", question.pk) == question
    stranger = get_user_model().objects.create_user("stranger")
    for person, slug, question_id in (
        (stranger, "ops", question.pk),
        (ana, "lab", question.pk),
        (ana, "ops", "q_missing"),
    ):
        with pytest.raises(Http404):
            access.question_for(person, slug, question_id)


def _refusal(find: Any, *args: Any) -> str:
    with pytest.raises(Http404) as refused:
        find(*args)
    return str(refused.value)


def test_managers_and_superusers_may_manage(ana: Any, ben: Any, root: Any, room: Room) -> None:
    Membership.objects.filter(user=ana).update(role=Membership.Role.MANAGER)
    assert access.may_manage(ana, room)
    assert access.may_manage(root, room)
    assert not access.may_manage(ben, room)
    assert not access.may_manage(AnonymousUser(), room)


def test_manager_of_one_room_manages_no_other(ana: Any, room: Room, other_room: Room) -> None:
    Membership.objects.filter(user=ana).update(role=Membership.Role.MANAGER)
    assert not access.may_manage(ana, other_room)


def test_session_cookie_leads_to_its_user(ana: Any) -> None:
    browser = Client()
    browser.force_login(ana)
    session_key = browser.session.session_key
    assert access.user_of_session(session_key) == ana
    browser.logout()
    assert not access.user_of_session(session_key).is_authenticated


@pytest.mark.parametrize("slug", ["op", "ops\x00", "\x00", "x" * 500])
def test_missing_room_in_a_query_string_is_missing(browser: Client, room: Room, slug: str) -> None:
    for page in ("/insights", "/insights/export.csv"):
        assert browser.get(page, {"room": slug}).status_code == 404


@pytest.mark.parametrize("session_key", [None, "", "unknown", "\x00", "x" * 500])
def test_invalid_session_leads_to_no_user(db: None, session_key: str | None) -> None:
    assert not access.user_of_session(session_key).is_authenticated


def test_users_are_found_by_name(ana: Any, ben: Any) -> None:
    assert access.named_users(["ben", "ana"]) == [ben, ana]
    with pytest.raises(LookupError, match="eve"):
        access.named_users(["ana", "eve"])


# ---- agents --------------------------------------------------------------------------------------


def test_key_text_has_the_documented_form(key: Key) -> None:
    record, text = key
    assert re.fullmatch(rf"abk_{record.lookup}_[0-9a-z]{{40}}", text)


def test_secret_is_stored_nowhere(key: Key) -> None:
    record, text = key
    secret = text.rpartition("_")[2]
    stored = AgentKey.objects.filter(pk=record.pk).values().get()
    assert not any(secret in str(value) for value in stored.values())


def test_two_keys_are_never_the_same(room: Room) -> None:
    texts = {access.create_key(room, label="same")[1] for _ in range(20)}
    assert len(texts) == 20


def test_key_leads_to_its_room(key: Key, room: Room) -> None:
    found = access.key_from_header(f"Bearer {key[1]}")
    assert found == key[0]
    assert access.room_of_key(found, "ops") == room


def test_secret_of_another_key_does_not_fit(key: Key, room: Room) -> None:
    _, other = access.create_key(room, label="other")
    mixed = f"abk_{key[0].lookup}_{other.rpartition('_')[2]}"
    with pytest.raises(access.BadKey):
        access.key_from_header(f"Bearer {mixed}")


def test_key_survives_a_rotation_of_the_secret_key(key: Key, settings: Any) -> None:
    settings.SECRET_KEY_FALLBACKS = ["older still", settings.SECRET_KEY]
    settings.SECRET_KEY = "a new one"
    assert access.key_from_header(f"Bearer {key[1]}") == key[0]


def test_key_that_was_used_needs_the_old_secret_key_no_more(key: Key, room: Room, settings: Any) -> None:
    _, unused = access.create_key(room, label="unused")
    access.key_from_header(f"Bearer {key[1]}")
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "a new one"
    access.key_from_header(f"Bearer {key[1]}")
    settings.SECRET_KEY_FALLBACKS = []
    assert access.key_from_header(f"Bearer {key[1]}") == key[0]
    with pytest.raises(access.BadKey):
        access.key_from_header(f"Bearer {unused}")


def test_key_is_sealed_anew_once(key: Key, settings: Any) -> None:
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "a new one"
    access.key_from_header(f"Bearer {key[1]}")
    with CaptureQueriesContext(connection) as queries:
        access.key_from_header(f"Bearer {key[1]}")
    assert not [query for query in queries if query["sql"].startswith("UPDATE")]


def test_revoking_counts_living_keys_only(key: Key, room: Room) -> None:
    access.create_key(room, label="second")
    keys = AgentKey.objects.filter(room=room)
    assert access.revoke_keys(keys) == 2
    revoked_at = AgentKey.objects.get(pk=key[0].pk).revoked_at
    assert access.revoke_keys(keys) == 0
    assert AgentKey.objects.get(pk=key[0].pk).revoked_at == revoked_at


def test_revoked_key_is_no_key(key: Key) -> None:
    access.revoke_keys(AgentKey.objects.filter(pk=key[0].pk))
    with pytest.raises(access.BadKey):
        access.key_from_header(f"Bearer {key[1]}")


def test_room_and_questions_of_others_are_missing_to_a_key(
    key: Key, question: Question, other_room: Room
) -> None:
    foreign, _ = access.create_key(other_room, label="spy-bot")
    assert access.question_of_key(key[0], question.pk) == question
    with pytest.raises(access.Missing):
        access.question_of_key(foreign, question.pk)
    with pytest.raises(access.Missing):
        access.room_of_key(foreign, "ops")


def test_creating_a_room_again_adds_members_and_keeps_the_rest(ana: Any, ben: Any) -> None:
    first = lifecycle.create_room("den", name="The den", members=[ana])
    again = lifecycle.create_room("den", name="Another", is_open=True, members=[ana, ben])
    assert again == first
    assert (again.name, again.is_open) == ("The den", False)
    assert set(again.memberships.values_list("user__username", flat=True)) == {"ana", "ben"}
