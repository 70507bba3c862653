"""Connected agents: who would hear a message, from leases that all processes share."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from rooms import access, lifecycle
from rooms.models import AgentKey, Question, Room
from rooms.people import agents
from tests.harness.agents import Agent

Key = tuple[AgentKey, str]


def connected_in(room: Room) -> list[str]:
    return agents.connected_in([room])[room.pk]


def let_time_pass() -> None:
    past = timezone.now() - timedelta(seconds=lifecycle.LEASE_SECONDS + 1)
    AgentKey.objects.update(last_used_at=past)
    Question.objects.update(waiting_until=past)


def test_a_key_that_was_never_used_is_not_connected(room: Room, key: Key) -> None:
    assert connected_in(room) == []


def test_an_agent_that_waits_is_connected_by_its_own_name(question: Question, room: Room) -> None:
    lifecycle.wait_started(question.pk)
    assert connected_in(room) == ["refactor-bot"]
    lifecycle.wait_ended(question.pk)
    assert connected_in(room) == []


def test_agents_that_share_a_key_are_counted_by_name(ask: Callable[..., Question], room: Room) -> None:
    for name in ("first", "second", "second"):
        lifecycle.wait_started(ask(agent={"name": name}).pk)
    agents.renew_keys(list(AgentKey.objects.values_list("pk", flat=True)))
    assert connected_in(room) == ["first", "second"]


def test_an_open_poll_or_stream_is_connected_without_a_question(room: Room, key: Key) -> None:
    agents.renew_keys([key[0].pk])
    assert connected_in(room) == ["refactor-bot"]
    let_time_pass()
    assert connected_in(room) == []


def test_an_agent_is_connected_for_a_moment_after_a_call(agent: Agent, room: Room) -> None:
    agent.get(agent.messages_url)
    assert connected_in(room) == ["refactor-bot"]
    let_time_pass()
    assert connected_in(room) == []


def test_a_lease_that_ran_out_does_not_count(question: Question, room: Room) -> None:
    lifecycle.wait_started(question.pk)
    let_time_pass()
    assert connected_in(room) == []


def test_a_revoked_key_is_not_connected(room: Room, key: Key) -> None:
    agents.renew_keys([key[0].pk])
    access.revoke_keys(AgentKey.objects.all())
    assert connected_in(room) == []


def test_each_room_has_its_own(room: Room, other_room: Room, key: Key) -> None:
    agents.renew_keys([key[0].pk])
    assert agents.connected_in([room, other_room]) == {room.pk: ["refactor-bot"], other_room.pk: []}


# ---- in the composer -------------------------------------------------------------------------------------


def test_the_composer_says_who_listens(browser: Client, room: Room, key: Key, second_agent: Agent) -> None:
    address = reverse("ask_bridge:room", args=(room.slug,))
    assert "No agent is listening yet." in browser.get(address).content.decode()
    agents.renew_keys([key[0].pk])
    page = browser.get(address).content.decode()
    assert "1 agent connected" in page
    agents.renew_keys([key[0].pk, second_agent.key_row.pk])
    page = browser.get(address).content.decode()
    assert "2 agents connected" in page
    assert "deploy-bot, refactor-bot" in page


def test_a_sent_message_comes_back_with_who_listens(browser: Client, room: Room, key: Key) -> None:
    agents.renew_keys([key[0].pk])
    address = reverse("ask_bridge:post-message", args=(room.slug,))
    reply = browser.post(address, {"content": "Please **hurry**"}, headers={"HX-Request": "true"})
    said = reply.content.decode()
    assert "1 agent connected" in said
    assert '<div hx-swap-oob="afterbegin:#ab-timeline"><article class="ab-message' in said
    assert "Please <strong>hurry</strong>" in said


def test_without_javascript_the_page_opens_at_the_message(browser: Client, room: Room, ana: Any) -> None:
    address = reverse("ask_bridge:room", args=(room.slug,))
    reply = browser.post(reverse("ask_bridge:post-message", args=(room.slug,)), {"content": "Hurry"})
    message = room.messages.get(user=ana)
    assert reply.headers["Location"] == f"{address}#message-{message.pk}"
    assert f'id="message-{message.pk}"' in browser.get(address).content.decode()


def test_a_room_lists_the_agents_that_called_last_first(browser: Client, room: Room, key: Key) -> None:
    now = timezone.now()
    AgentKey.objects.update(last_used_at=now - timedelta(days=2))
    access.create_key(room, label="never")
    newest, _ = access.create_key(room, label="newest")
    AgentKey.objects.filter(pk=newest.pk).update(last_used_at=now)
    page = browser.get(reverse("ask_bridge:room", args=(room.slug,)))
    assert [agent.label for agent in page.context["agents"]] == ["newest", key[0].label, "never"]
