"""Webhooks: their page, what they are sent in each shape, and how it is signed."""

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from rooms import audit, crypto, lifecycle
from rooms.models import AuditEntry, Membership, Notice, Question, Room, Webhook
from rooms.notifications import outbox, planner, safe_http, webhooks
from rooms.notifications.channels.webhook import for_ntfy, recipient
from rooms.notifications.content import content_about
from tests.harness.receivers import Receiver, receiving

Ask = Callable[..., Question]

ADD = {"label": "Team", "kind": "json", "on_asked": "on", "on_settled": "on", "after_minutes": "0"}


@pytest.fixture(autouse=True)
def loopback_is_allowed(settings: Any) -> None:
    allowed = {"ORIGIN": "https://ask.example.org", "WEBHOOK_ALLOWED_NETWORKS": ["127.0.0.0/8"]}
    settings.ASK_BRIDGE = {**settings.ASK_BRIDGE, **allowed}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


@pytest.fixture
def manager(ana: Any, room: Room, browser: Client) -> Client:
    Membership.objects.filter(user=ana).update(role=Membership.Role.MANAGER)
    return browser


def go_round() -> None:
    planner.read()
    outbox.send_due()


# ---- signed ----------------------------------------------------------------------------------------------


def test_the_signature_is_of_time_and_body(manager: Client, room: Room, receiver: Receiver, ask: Ask) -> None:
    page = manager.post("/rooms/ops/webhooks", {**ADD, "url": f"{receiver.url}/hook"}).content.decode()
    [secret] = set(re.findall(r"abw_[\w-]+", page))
    ask()
    go_round()
    [call] = receiver.calls
    at, digest = re.fullmatch(r"t=(\d+),v1=([0-9a-f]{64})", call.headers["X-Ask-Bridge-Signature"]).groups()
    assert abs(int(at) - timezone.now().timestamp()) < 10
    assert digest == hmac.new(secret.encode(), f"{at}.".encode() + call.body, hashlib.sha256).hexdigest()
    assert secret not in manager.get("/rooms/ops/webhooks").content.decode()


def test_neither_address_nor_secret_stands_in_the_database(room: Room, ana: Any) -> None:
    url = "https://hooks.example.org/services/T0/SECRET-PART"
    webhook, secret = webhooks.add(room, ana, url=url, label="x")
    stored = json.dumps(Webhook.objects.values().get(), default=str)
    assert "SECRET-PART" not in stored
    assert secret not in stored
    assert crypto.decrypt(webhooks.PURPOSE, webhook.locked_address) == url


def test_what_is_locked_survives_a_rotated_secret_key(
    room: Room, ana: Any, receiver: Receiver, ask: Ask, settings: Any
) -> None:
    webhooks.add(room, ana, url=receiver.url, label="x")
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another" * 10
    ask()
    go_round()
    assert len(receiver.calls) == 1
    settings.SECRET_KEY_FALLBACKS = []
    ask()
    go_round()
    newest = Notice.objects.order_by("-pk")[0]
    assert newest.last_error.startswith("Its address was encrypted with another SECRET_KEY")
    assert newest.failed_at


def test_relocked_webhooks_need_the_old_secret_key_no_more(room: Room, ana: Any, settings: Any) -> None:
    url = "https://hooks.example.org/services/T0"
    webhooks.add(room, ana, url=url, label="x")
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another" * 10
    printed = StringIO()
    call_command("relock_webhooks", stdout=printed)
    assert printed.getvalue() == "Webhooks encrypted with the present SECRET_KEY: 1.\n"
    settings.SECRET_KEY_FALLBACKS = []
    webhook = Webhook.objects.get()
    assert crypto.decrypt(webhooks.PURPOSE, webhook.locked_address) == url
    assert crypto.decrypt(webhooks.PURPOSE, webhook.locked_secret).startswith("abw_")


def test_webhooks_of_an_unknown_secret_key_are_counted(room: Room, ana: Any, settings: Any) -> None:
    webhooks.add(room, ana, url="https://hooks.example.org/", label="x")
    settings.SECRET_KEY = "another" * 10
    with pytest.raises(CommandError, match="can read: 1"):
        call_command("relock_webhooks", stdout=StringIO())


# ---- shapes ----------------------------------------------------------------------------------------------


def test_slack_gets_blocks_with_a_button_and_no_markup_of_an_agent(
    room: Room, ana: Any, receiver: Receiver, ask: Ask
) -> None:
    webhooks.add(room, ana, url=f"{receiver.url}/services/T0/B0/x", label="x", kind="slack")
    question = ask(
        questions=[
            {"question": "<!channel> *deploy* <https://evil.example|ok> & go?", "options": ["Yes", "No"]}
        ]
    )
    go_round()
    message = receiver.calls[0].json()
    section, actions = message["blocks"]
    text = section["text"]["text"]
    assert "<" not in text
    assert "&lt;!channel&gt;" in text
    assert "&amp; go?" in text
    [button] = actions["elements"]
    assert button["url"] == f"https://ask.example.org/rooms/ops/questions/{question.pk}"
    assert "X-Ask-Bridge-Signature" not in receiver.calls[0].headers
    lifecycle.decline(question, ana)
    go_round()
    settled = receiver.calls[1].json()
    assert "Skipped by Ana Costa" in settled["text"]
    assert len(settled["blocks"]) == 1


def test_ntfy_gets_a_message_for_its_topic(room: Room, ana: Any, receiver: Receiver, ask: Ask) -> None:
    webhooks.add(room, ana, url=f"{receiver.url}/base/our-team?auth=abc", label="x", kind="ntfy")
    question = ask()
    go_round()
    [call] = receiver.calls
    assert call.path == "/base/?auth=abc"
    assert call.json() == {
        "topic": "our-team",
        "title": "Database · Operations",
        "message": "Which database should we use?",
        "click": f"https://ask.example.org/rooms/ops/questions/{question.pk}",
        "priority": 3,
        "tags": ["speech_balloon"],
    }


def test_an_escalation_is_urgent(question: Question) -> None:
    letter = content_about(Notice.Kind.ESCALATED, question)
    assert letter.title == "Not answered yet: Database · Operations"
    assert for_ntfy("https://ntfy.example.org/x", letter)[1]["priority"] == 5


# ---- the page --------------------------------------------------------------------------------------------


def test_only_managers_know_of_it(browser: Client, room: Room, other_room: Room) -> None:
    for slug in ("ops", "lab", "nowhere"):
        for address in (f"/rooms/{slug}/webhooks", *(f"/rooms/{slug}/webhooks/{verb}" for verb in VERBS)):
            assert (
                browser.post(address, {**ADD, "url": "https://example.org", "webhook": "1"}).status_code
                == 404
            )
    assert browser.get("/rooms/ops/webhooks").status_code == 404
    assert "/rooms/ops/webhooks" not in browser.get("/rooms/ops/connect").content.decode()
    assert not Webhook.objects.exists()


VERBS = ("try", "switch", "remove")


def test_a_manager_finds_it_on_the_connect_page(manager: Client) -> None:
    assert 'href="/rooms/ops/webhooks"' in manager.get("/rooms/ops/connect").content.decode()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"url": "ftp://example.org"}, "it must begin with https://"),
        ({"url": "https://a:b@example.org"}, "must not contain a user name or password"),
        ({"url": f"https://{'long.' * 60}example.org"}, "The host name in this address is too long."),
        ({"url": ""}, "This field is required"),
        ({"label": ""}, "This field is required"),
        ({"on_asked": "", "on_settled": ""}, "Choose at least one event."),
        ({"after_minutes": "-1"}, "greater than or equal to 0"),
        ({"kind": "carrier-pigeon"}, ""),
    ],
)
def test_a_wrong_form_is_answered_with_a_sentence(manager: Client, fields: dict[str, str], said: str) -> None:
    sent = {**ADD, "url": "https://example.org/hook", **fields}
    reply = manager.post("/rooms/ops/webhooks", {name: value for name, value in sent.items() if value})
    assert reply.status_code == 422
    assert said in reply.content.decode()
    assert not Webhook.objects.exists()


def tried(manager: Client, webhook: Webhook) -> str:
    """The page after a test was sent, as a browser without JavaScript follows it there."""
    sent = manager.post("/rooms/ops/webhooks/try", {"webhook": webhook.pk})
    assert sent.status_code == 303
    assert 'http-equiv="refresh"' in manager.get(sent.url).content.decode()
    outbox.send_due()
    page = manager.get(sent.url).content.decode()
    assert 'http-equiv="refresh"' not in page
    return page


def test_a_webhook_can_be_tried_and_the_outcome_is_a_sentence(
    manager: Client, room: Room, ana: Any, receiver: Receiver
) -> None:
    webhook, _ = webhooks.add(room, ana, url=f"{receiver.url}/hook", label="x")
    assert "Sent and accepted." in tried(manager, webhook)
    assert receiver.calls[0].json()["type"] == "test"
    receiver.answer = lambda call: (404, {}, b"<b>no such hook</b>")
    assert "The receiver replied 404: &lt;b&gt;no such hook&lt;/b&gt;" in tried(manager, webhook)
    # A test is tried once.
    assert not Notice.objects.waiting().exists()


def test_a_test_is_sent_by_the_outbox_and_not_by_the_page(
    manager: Client, room: Room, ana: Any, receiver: Receiver
) -> None:
    webhook, _ = webhooks.add(room, ana, url=f"{receiver.url}/hook", label="x")
    with_htmx = {"HX-Request": "true"}
    part = manager.post("/rooms/ops/webhooks/try", {"webhook": webhook.pk}, headers=with_htmx)
    assert "Sending…" in part.content.decode()
    assert receiver.calls == []
    # It asks for itself again, until the outcome is known.
    again = re.search(r'hx-get="([^"]+)"', part.content.decode())
    assert again
    assert manager.get(again[1], headers=with_htmx).content == part.content
    outbox.send_due()
    sentence = manager.get(again[1], headers=with_htmx).content.decode()
    assert "Sent and accepted." in sentence
    assert "hx-get" not in sentence


def test_a_test_that_is_never_sent_is_not_looked_at_for_ever(manager: Client, room: Room, ana: Any) -> None:
    webhook, _ = webhooks.add(room, ana, url="https://hooks.example.org", label="x")
    page = manager.post("/rooms/ops/webhooks/try", {"webhook": webhook.pk}).url
    Notice.objects.update(created_at=timezone.now() - timedelta(minutes=2))
    shown = manager.get(page).content.decode()
    assert "Not sent yet. Reload the page to check again." in shown
    assert "/settings/tried" not in shown


def test_the_outcome_of_a_test_is_for_who_sent_it(manager: Client, room: Room, ana: Any, ben: Any) -> None:
    webhook, _ = webhooks.add(room, ana, url="https://hooks.example.org", label="x")
    row = recipient(webhook, ben).notice(Notice.Kind.TEST, None, timezone.now())
    [notice] = outbox.queue_tests([row])
    assert manager.get(f"/settings/tried?test={notice.pk}").status_code == 404
    assert manager.get("/settings/tried").status_code == 404


def test_a_private_address_is_refused_when_it_is_tried(
    manager: Client, room: Room, ana: Any, receiver: Receiver, settings: Any
) -> None:
    settings.ASK_BRIDGE = {**settings.ASK_BRIDGE, "WEBHOOK_ALLOWED_NETWORKS": []}
    webhook, _ = webhooks.add(room, ana, url=f"{receiver.url}/hook", label="x")
    assert "127.0.0.1 is not a public address" in tried(manager, webhook)
    assert receiver.calls == []


def test_tests_are_limited(manager: Client, room: Room, ana: Any, receiver: Receiver, settings: Any) -> None:
    settings.ASK_BRIDGE = {**settings.ASK_BRIDGE, "TESTS_PER_MINUTE": 2}
    webhook, _ = webhooks.add(room, ana, url=receiver.url, label="x")
    for _ in range(2):
        assert manager.post("/rooms/ops/webhooks/try", {"webhook": webhook.pk}).status_code == 303
    refused = manager.post("/rooms/ops/webhooks/try", {"webhook": webhook.pk})
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) <= 60
    part = manager.post("/rooms/ops/webhooks/try", {"webhook": webhook.pk}, headers={"HX-Request": "true"})
    assert (part.status_code, b"More than 2 within a minute" in part.content) == (429, True)
    outbox.send_due()
    assert len(receiver.calls) == 2


def test_a_pause_is_shown_and_a_test_that_is_taken_ends_it(
    manager: Client, room: Room, ana: Any, receiver: Receiver, ask: Ask
) -> None:
    webhook, _ = webhooks.add(room, ana, url=receiver.url, label="x")
    Webhook.objects.update(failures=5, paused_until=timezone.now() + timedelta(minutes=1))
    ask()
    go_round()
    assert receiver.calls == []
    assert "Paused after 5 failures until" in manager.get("/rooms/ops/webhooks").content.decode()
    page = tried(manager, webhook)
    assert "Sent and accepted." in page
    assert "Paused after" not in page
    # What had waited went out with it.
    assert [call.json()["type"] for call in receiver.calls] == ["test", "question.asked"]


def test_a_webhook_is_switched_off_and_removed(
    manager: Client, room: Room, ana: Any, receiver: Receiver, ask: Ask
) -> None:
    webhook, _ = webhooks.add(room, ana, url=receiver.url, label="x")
    manager.post("/rooms/ops/webhooks/switch", {"webhook": webhook.pk, "enabled": "off"})
    ask()
    go_round()
    assert receiver.calls == []
    manager.post("/rooms/ops/webhooks/switch", {"webhook": webhook.pk, "enabled": "on"})
    ask()
    planner.read()
    manager.post("/rooms/ops/webhooks/remove", {"webhook": webhook.pk})
    outbox.send_due()
    assert receiver.calls == []
    assert not Webhook.objects.exists()


def test_who_sent_what_where_is_written_down(manager: Client, admin_client: Client, room: Room) -> None:
    sent = {**ADD, "url": "https://hooks.example.org/SECRET"}
    assert manager.post("/rooms/ops/webhooks", sent).status_code == 200
    webhook = Webhook.objects.get()
    for enabled in ("off", "off", "on"):
        manager.post("/rooms/ops/webhooks/switch", {"webhook": webhook.pk, "enabled": enabled})
    change = {"label": "Other", "after_minutes": "3", "on_asked": "on", "is_enabled": "on"}
    admin_client.post(f"/admin/ask_bridge/webhook/{webhook.pk}/change/", change)
    manager.post("/rooms/ops/webhooks/remove", {"webhook": webhook.pk})
    entries = AuditEntry.objects.filter(action__startswith="webhook").order_by("pk")
    assert [(entry.action, entry.actor, entry.details) for entry in entries] == [
        ("webhook_added", "ana", {"label": "Team", "host": "hooks.example.org"}),
        ("webhook_changed", "ana", {"label": "Team", "host": "hooks.example.org", "enabled": False}),
        ("webhook_changed", "ana", {"label": "Team", "host": "hooks.example.org", "enabled": True}),
        (
            "webhook_changed",
            "admin",
            {"label": "Other", "host": "hooks.example.org", "on_settled": False, "after_minutes": 3},
        ),
        ("webhook_removed", "ana", {"label": "Other", "host": "hooks.example.org"}),
    ]
    assert {(entry.room, entry.subject) for entry in entries} == {("ops", str(webhook.pk))}
    assert all(audit.is_intact(entry) for entry in entries)


def test_a_webhook_of_another_room_does_not_exist(manager: Client, other_room: Room, ana: Any) -> None:
    webhook, _ = webhooks.add(other_room, None, url="https://example.org", label="x")
    for number in (webhook.pk, "9" * 30, "x", ""):
        for verb in VERBS:
            assert manager.post(f"/rooms/ops/webhooks/{verb}", {"webhook": number}).status_code == 404
    assert Webhook.objects.get().is_enabled


def test_a_room_has_no_end_of_webhooks_neither(room: Room, ana: Any) -> None:
    for number in range(webhooks.WEBHOOKS_PER_ROOM):
        webhooks.add(room, ana, url="https://example.org", label=str(number))
    with pytest.raises(webhooks.TooManyWebhooks):
        webhooks.add(room, ana, url="https://example.org", label="one more")
    with pytest.raises(safe_http.Refused):
        webhooks.add(room, ana, url="javascript:alert(1)", label="x")
