"""Keys that expire, are rotated and revoked: by managers on the Connect page, by admins, by commands."""

import html
import logging
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from rooms import access
from rooms.models import AgentKey, AuditEntry, Membership, Question, Room
from tests.rooms.test_admin import KEY, act, listing, page
from tests.rooms.test_commands import run

DAY = timedelta(days=1)


def is_about(moment: datetime | None, expected: datetime) -> bool:
    return moment is not None and abs(moment - expected) < timedelta(minutes=1)


def expire(key: AgentKey) -> None:
    AgentKey.objects.filter(pk=key.pk).update(expires_at=timezone.now())


def text_of(response: Any) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", response.content.decode())).split())


@pytest.fixture
def manager(ana: Any, room: Room) -> Client:
    """Ana, who manages the room."""
    Membership.objects.filter(user=ana).update(role=Membership.Role.MANAGER)
    browser = Client()
    browser.force_login(ana)
    return browser


@pytest.fixture
def member(ben: Any, room: Room) -> Client:
    browser = Client()
    browser.force_login(ben)
    return browser


@pytest.fixture
def clerk(db: None) -> Client:
    browser = Client()
    browser.force_login(get_user_model().objects.create_superuser("root"))
    return browser


# ---- expiry ----------------------------------------------------------------------------------------------


def test_key_works_until_it_expires(agent: Any) -> None:
    AgentKey.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
    assert agent.get(agent.questions_url).status_code == 200
    expire(agent.key_row)
    assert agent.get(agent.questions_url).status_code == 401


def test_expired_looks_like_revoked_to_agents(agent: Any, second_agent: Any) -> None:
    expire(agent.key_row)
    access.revoke_keys(AgentKey.objects.filter(pk=second_agent.key_row.pk))
    expired, revoked = agent.get(agent.questions_url), second_agent.get(second_agent.questions_url)
    assert (expired.status_code, expired.content) == (revoked.status_code, revoked.content)
    assert expired.headers == revoked.headers


def test_expired_key_is_no_more_usable_than_a_revoked_one(agent: Any) -> None:
    """Open waits end by this: the hub looks the keys up every few seconds."""
    assert AgentKey.objects.usable().count() == 1
    expire(agent.key_row)
    assert AgentKey.objects.usable().count() == AgentKey.objects.alive().count() == 0


def test_question_of_an_expired_key_can_still_be_answered(
    agent: Any, question: Question, member: Client
) -> None:
    expire(agent.key_row)
    answered = member.post(f"/rooms/ops/questions/{question.pk}/answer", {"choice-0": "0"})
    assert answered.status_code == 303


# ---- rotation --------------------------------------------------------------------------------------------


def test_rotated_key_works_one_more_day_beside_the_new_one(agent: Any, ana: Any) -> None:
    new, text = access.rotate_key(agent.key_row, by=ana)
    assert access.key_from_header(f"Bearer {text}") == new
    assert agent.get(agent.questions_url).status_code == 200
    assert (new.label, new.room, new.created_by, new.expires_at) == (
        "refactor-bot",
        agent.room_row,
        ana,
        None,
    )
    agent.key_row.refresh_from_db()
    assert is_about(agent.key_row.expires_at, timezone.now() + DAY)


def test_rotation_leaves_what_it_did_in_the_audit(agent: Any, ana: Any) -> None:
    new, _ = access.rotate_key(agent.key_row, by=ana)
    rotated = AuditEntry.objects.get(action="key_rotated")
    assert (rotated.actor, rotated.subject) == ("ana", agent.key_row.lookup)
    assert rotated.details == {"label": "refactor-bot", "successor": new.lookup}
    assert AuditEntry.objects.get(action="key_created", subject=new.lookup).actor == "ana"


def test_key_for_a_time_is_followed_by_one_for_the_same_time(room: Room, ana: Any) -> None:
    key, _ = access.create_key(room, label="bot", expires_at=timezone.now() + 90 * DAY)
    long_ago = timezone.now() - 80 * DAY
    AgentKey.objects.filter(pk=key.pk).update(created_at=long_ago, expires_at=long_ago + 90 * DAY)
    new, _ = access.rotate_key(key, by=ana)
    assert is_about(new.expires_at, timezone.now() + 90 * DAY)
    key.refresh_from_db()
    assert is_about(key.expires_at, timezone.now() + DAY)


def test_rotation_never_gives_an_old_key_more_time(agent: Any, ana: Any) -> None:
    access.rotate_key(agent.key_row, by=ana)
    with pytest.raises(access.NotRotatable):
        access.rotate_key(agent.key_row, by=ana)
    assert AgentKey.objects.count() == 2


@pytest.mark.parametrize(
    "fields", [{"revoked_at": timezone.now()}, {"expires_at": timezone.now()}], ids=["revoked", "expired"]
)
def test_dead_key_is_not_rotated(agent: Any, ana: Any, fields: dict[str, Any]) -> None:
    AgentKey.objects.update(**fields)
    with pytest.raises(access.NotRotatable):
        access.rotate_key(agent.key_row, by=ana)
    assert AgentKey.objects.count() == 1


# ---- the command -----------------------------------------------------------------------------------------


def test_command_makes_a_key_for_some_days(room: Room) -> None:
    text = run("createkey", "ops", "--label", "bot", "--expires-in-days", "30").strip()
    key = access.key_from_header(f"Bearer {text}")
    assert is_about(key.expires_at, timezone.now() + 30 * DAY)


@pytest.mark.parametrize("days", ["0", "-1", "3651", "x", "1.5"])
def test_command_refuses_days_that_make_no_sense(room: Room, days: str) -> None:
    with pytest.raises(CommandError, match=r"1 to 3650 days|invalid int value"):
        call_command("createkey", "ops", "--label", "bot", "--expires-in-days", days)
    assert not AgentKey.objects.exists()


# ---- the Connect page ------------------------------------------------------------------------------------


def test_manager_chooses_how_long_a_key_works(manager: Client) -> None:
    made = manager.post("/rooms/ops/connect", {"label": "bot", "expires_in_days": "90"})
    key = AgentKey.objects.get()
    assert is_about(key.expires_at, timezone.now() + 90 * DAY)
    assert "Expires" in text_of(made)
    manager.post("/rooms/ops/connect", {"label": "for ever", "expires_in_days": ""})
    assert AgentKey.objects.get(label="for ever").expires_at is None


@pytest.mark.parametrize("days", ["3", "0", "-7", "x", "99999999999"])
def test_manager_cannot_invent_a_time(manager: Client, days: str) -> None:
    manager.post("/rooms/ops/connect", {"label": "bot", "expires_in_days": days})
    assert not AgentKey.objects.exists()


def test_table_says_what_has_become_of_each_key(manager: Client, agent: Any, second_agent: Any) -> None:
    expire(agent.key_row)
    access.revoke_keys(AgentKey.objects.filter(pk=second_agent.key_row.pk))
    for address in ("/rooms/ops/connect", "/rooms/ops/connect/keys"):
        shown = manager.get(address)
        assert f"refactor-bot abk_{agent.key_row.lookup}_… Expired" in text_of(shown)
        assert f"deploy-bot abk_{second_agent.key_row.lookup}_… Revoked" in text_of(shown)
        assert "Not used yet" not in text_of(shown)
        # Dead keys offer no actions, and no page waits for their first call.
        assert "connect/rotate" not in shown.content.decode()
        assert 'hx-trigger="every 2s"' not in shown.content.decode()


def test_manager_rotates_a_key_and_sees_the_new_one_once(manager: Client, agent: Any) -> None:
    offered = manager.get("/rooms/ops/connect").content.decode()
    assert 'action="/rooms/ops/connect/rotate"' in offered
    rotated = manager.post("/rooms/ops/connect/rotate", {"key": agent.key_row.lookup})
    assert rotated.status_code == 200
    assert "no-store" in rotated["Cache-Control"]
    (text,) = set(KEY.findall(rotated.content.decode()))
    assert access.key_from_header(f"Bearer {text}").label == "refactor-bot"
    assert agent.get(agent.questions_url).status_code == 200
    assert not KEY.search(manager.get("/rooms/ops/connect").content.decode())
    # The form for the next key stands on this page as well, and goes to the right address.
    assert 'method="post" action="/rooms/ops/connect"' in rotated.content.decode()


def test_rotating_again_by_reloading_makes_no_third_key(manager: Client, agent: Any) -> None:
    form = {"key": agent.key_row.lookup}
    manager.post("/rooms/ops/connect/rotate", form)
    again = manager.post("/rooms/ops/connect/rotate", form)
    assert (again.status_code, again["Location"]) == (302, "/rooms/ops/connect")
    assert AgentKey.objects.count() == 2
    # On its last day a key can be revoked, but not rotated.
    offered = manager.get("/rooms/ops/connect").content.decode()
    assert (offered.count("connect/rotate"), offered.count("connect/revoke")) == (1, 2)


def test_manager_revokes_a_key(manager: Client, agent: Any, second_agent: Any) -> None:
    assert 'action="/rooms/ops/connect/revoke"' in manager.get("/rooms/ops/connect").content.decode()
    revoked = manager.post("/rooms/ops/connect/revoke", {"key": agent.key_row.lookup})
    assert (revoked.status_code, revoked["Location"]) == (302, "/rooms/ops/connect")
    assert agent.get(agent.questions_url).status_code == 401
    assert second_agent.get(second_agent.questions_url).status_code == 200
    assert AuditEntry.objects.get(action="key_revoked").actor == "ana"


@pytest.mark.parametrize("tail", ["rotate", "revoke"])
def test_only_managers_touch_the_keys_of_a_room(
    manager: Client, member: Client, agent: Any, foreign_agent: Any, tail: str
) -> None:
    address = f"/rooms/ops/connect/{tail}"
    refusals = [
        member.post(address, {"key": agent.key_row.lookup}),
        manager.post(address, {"key": foreign_agent.key_row.lookup}),
        manager.post(f"/rooms/lab/connect/{tail}", {"key": foreign_agent.key_row.lookup}),
        manager.post(address, {"key": "nothing\x00"}),
        manager.post(address, {}),
    ]
    assert [refused.status_code for refused in refusals] == [404] * 5
    assert Client().post(address, {"key": agent.key_row.lookup})["Location"].startswith("/login/")
    assert AgentKey.objects.filter(revoked_at=None, expires_at=None).count() == AgentKey.objects.count() == 2


def test_member_sees_no_buttons(member: Client, agent: Any) -> None:
    shown = member.get("/rooms/ops/connect").content.decode()
    assert "connect/rotate" not in shown
    assert "connect/revoke" not in shown


def test_forms_without_a_token_are_refused(ana: Any, manager: Client, agent: Any) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(ana)
    for tail in ("rotate", "revoke"):
        refused = browser.post(f"/rooms/ops/connect/{tail}", {"key": agent.key_row.lookup})
        assert refused.status_code == 403
    assert AgentKey.objects.alive().count() == 1


# ---- the admin -------------------------------------------------------------------------------------------


def add_key(browser: Client, room: Room, expires: datetime | None) -> Any:
    form = {"room": room.pk, "label": "bot"}
    if expires:
        form |= {"expires_at_0": f"{expires:%Y-%m-%d}", "expires_at_1": f"{expires:%H:%M:%S}"}
    return browser.post(reverse("admin:ask_bridge_agentkey_add"), form)


def test_admin_may_say_when_a_new_key_expires(clerk: Client, room: Room) -> None:
    until = (timezone.now() + 30 * DAY).replace(microsecond=0)
    add_key(clerk, room, until)
    assert AgentKey.objects.get().expires_at == until
    add_key(clerk, room, None)
    assert AgentKey.objects.filter(expires_at=None).count() == 1


def test_admin_cannot_make_a_key_that_is_dead(clerk: Client, room: Room) -> None:
    refused = add_key(clerk, room, timezone.now() - DAY)
    assert "This time is past" in text_of(refused)
    assert not AgentKey.objects.exists()


def test_admin_sees_and_filters_expired_keys(clerk: Client, agent: Any, second_agent: Any) -> None:
    expire(agent.key_row)

    def labels(state: str) -> list[str]:
        found = clerk.get(listing("agentkey"), {"state": state}).context["cl"].result_list
        return [key.label for key in found]

    assert (labels("expired"), labels("alive")) == (["refactor-bot"], ["deploy-bot"])
    assert "expired" in text_of(clerk.get(page("agentkey", agent.key_row.pk)))
    rooms = clerk.get(listing("room")).context["cl"].result_list
    assert [room.active_keys for room in rooms] == [1]


def test_admin_cannot_prolong_a_key(clerk: Client, agent: Any) -> None:
    expire(agent.key_row)
    form = {"label": "renamed", "expires_at_0": "2100-01-01", "expires_at_1": "00:00:00"}
    clerk.post(page("agentkey", agent.key_row.pk), form)
    key = AgentKey.objects.get()
    assert (key.label, key.is_alive) == ("renamed", False)


def test_admin_rotates_selected_keys_and_sees_the_new_ones_once(
    clerk: Client, agent: Any, second_agent: Any
) -> None:
    access.revoke_keys(AgentKey.objects.filter(pk=second_agent.key_row.pk))
    shown = act(clerk, "agentkey", "rotate", agent.key_row, second_agent.key_row)
    (text,) = set(KEY.findall(shown))
    assert access.key_from_header(f"Bearer {text}").label == "refactor-bot"
    assert "“deploy-bot” was not rotated" in shown
    assert agent.get(agent.questions_url).status_code == 200
    assert not KEY.search(clerk.get(listing("agentkey")).content.decode())


def test_rotating_only_dead_keys_leads_back_to_the_list(clerk: Client, agent: Any) -> None:
    expire(agent.key_row)
    assert "was not rotated" in act(clerk, "agentkey", "rotate", agent.key_row)
    assert AgentKey.objects.count() == 1


# ---- secrecy ---------------------------------------------------------------------------------------------


def rows() -> str:
    """Everything that our tables and the site's hold, as text."""
    return "\n".join(
        str(row)
        for model in apps.get_models(include_auto_created=True)
        for row in model.objects.values_list()
    )


def test_no_key_is_in_the_database_or_the_log(
    manager: Client,
    clerk: Client,
    agent: Any,
    question: Question,
    caplog: pytest.LogCaptureFixture,
    body: dict[str, Any],
) -> None:
    caplog.set_level(logging.DEBUG)
    pages = [
        manager.post("/rooms/ops/connect", {"label": "bot"}),
        manager.post("/rooms/ops/connect/rotate", {"key": agent.key_row.lookup}),
        add_key(clerk, agent.room_row, None),
    ]
    texts = [agent.key, *(KEY.findall(shown.content.decode())[0] for shown in pages)]
    texts.append(run("createkey", "ops", "--label", "bot").strip())
    for text in texts:
        for path in (agent.questions_url, agent.question_url(question.pk), "/api/v1/nothing"):
            Client().get(path, headers={"Authorization": f"Bearer {text}"})
        wrong = text[:-1] + ("0" if text[-1] != "0" else "1")
        assert (
            Client().get(agent.questions_url, headers={"Authorization": f"Bearer {wrong}"}).status_code == 401
        )
    agent.post(agent.questions_url, body)
    agent.post_raw(agent.questions_url, b"{")
    act(clerk, "agentkey", "revoke", *AgentKey.objects.all())
    assert agent.get(agent.questions_url).status_code == 401

    stored, logged = rows(), caplog.text
    assert agent.key_row.lookup in stored
    assert len(set(texts)) == 5
    for text in texts:
        assert text.rpartition("_")[2] not in stored
        assert text.rpartition("_")[2] not in logged


def test_table_of_keys_takes_the_same_number_of_queries_however_long(manager: Client, room: Room) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            manager.get("/rooms/ops/connect/keys")
        return len(captured)

    access.create_key(room, label="bot")
    before = queries()
    for _ in range(5):
        access.create_key(room, label="bot")
    assert queries() == before
