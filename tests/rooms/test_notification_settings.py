"""Notification settings: channels, times, devices, and test notifications."""

import json
import re
from collections.abc import Iterator
from datetime import time
from typing import Any

import pytest
from django.test import Client

from rooms.models import Notice, NoticePreferences, NoticeRule, Preferences, PushSubscription, Room
from rooms.models.notifications import AT_ONCE, OFF
from rooms.notifications import outbox, rules
from rooms.notifications.channels import push
from tests.harness.mail_backends import use_mail_backend
from tests.harness.receivers import MailServer, PushService, mail_server, push_service

CHOSEN = {
    "notices": "on",
    "push": "5",
    "mail": "60",
    "quiet_from": "22:00",
    "quiet_to": "07:30",
    "time_zone": "Europe/Berlin",
    "escalations_wait": "on",
}


@pytest.fixture(autouse=True)
def own_address(settings: Any) -> None:
    allowed = {"ORIGIN": "https://ask.example.org", "PUSH_ALLOWED_NETWORKS": ["127.0.0.0/8"]}
    settings.ASK_BRIDGE = {**settings.ASK_BRIDGE, **allowed}


@pytest.fixture
def service() -> Iterator[PushService]:
    with push_service(push.public_key()) as running:
        yield running


def shown(browser: Client) -> str:
    return browser.get("/settings").content.decode()


def added(browser: Client, service: PushService, **headers: str) -> Any:
    said = json.dumps(service.subscription())
    return browser.post("/settings/devices", {"subscription": said}, headers=headers)


# ---- what is wanted --------------------------------------------------------------------------------------


def test_who_never_chose_gets_pushes_on_devices_and_no_mail(browser: Client, ana: Any) -> None:
    page = shown(browser)
    assert '<option value="0" selected>Immediately</option>' in page
    assert '<option value="-1" selected>Off</option>' in page
    assert not NoticePreferences.objects.exists()


def test_what_was_chosen_is_kept(browser: Client, ana: Any) -> None:
    assert browser.post("/settings", CHOSEN).status_code == 303
    kept = rules.preferences_of(ana)
    assert (kept.push, kept.mail, kept.escalations_wait, kept.language) == (5, 60, True, "en")
    assert (kept.quiet_from, kept.quiet_to, kept.time_zone) == (time(22), time(7, 30), "Europe/Berlin")
    page = shown(browser)
    assert '<option value="5" selected>After 5 minutes</option>' in page
    assert '<option value="60" selected>After 1 hour</option>' in page
    assert 'name="quiet_from" value="22:00"' in page
    assert '<option value="Europe/Berlin" selected>' in page


def test_a_form_without_that_part_leaves_it_alone(browser: Client, ana: Any) -> None:
    browser.post("/settings", CHOSEN)
    browser.post("/settings", {"keyboard": "on"})
    assert rules.preferences_of(ana).push == 5


def test_what_is_disabled_is_not_sent_and_stays(browser: Client, ana: Any) -> None:
    browser.post("/settings", CHOSEN)
    browser.post("/settings", {"notices": "on"})
    kept = rules.preferences_of(ana)
    assert (kept.push, kept.mail) == (5, 60)
    assert (kept.quiet_from, kept.quiet_to, kept.escalations_wait) == (None, None, False)


@pytest.mark.parametrize(
    ("given", "wrong", "sentence"),
    [
        ({"quiet_from": "22:00", "quiet_to": ""}, "to", "Enter this time too, or clear the other one."),
        (
            {"quiet_from": "", "quiet_to": "07:30"},
            "from",
            "Enter this time too, or clear the other one.",
        ),
        ({"quiet_from": "22:00", "quiet_to": "late"}, "to", "Enter a time such as 22:00."),
    ],
)
def test_half_of_the_quiet_hours_is_an_error_at_its_field(
    browser: Client, ana: Any, room: Room, given: dict[str, str], wrong: str, sentence: str
) -> None:
    filled = {**CHOSEN, **given, "always_submit": "on", "muted": [room.slug]}
    rule = {"rule_room": [room.slug], "rule_push": ["-1"], "rule_mail": [""]}
    reply = browser.post("/settings", {**filled, **rule})
    page = reply.content.decode()
    assert reply.status_code == 422
    assert f'<p class="ab-field-error" id="ab-quiet-{wrong}-error">{sentence}</p>' in page
    field = re.search(rf'<input type="time" name="quiet_{wrong}" [^>]*>', page)
    assert field
    assert 'aria-invalid="true"' in field.group()
    assert f'aria-describedby="ab-quiet-{wrong}-error"' in field.group()
    assert "autofocus" in field.group()
    assert page.count("aria-invalid") == 1
    assert 'role="status" tabindex="-1">' not in page, "it says that it was saved"
    # Nothing is saved, and everything is there as it was filled in.
    assert not NoticePreferences.objects.exists()
    assert not NoticeRule.objects.exists()
    assert not Preferences.objects.exists()
    for value in ("22:00", "07:30"):
        assert (value in given.values()) == (f'value="{value}"' in page)
    for chosen in (
        '<option value="5" selected>After 5 minutes</option>',
        '<option value="60" selected>After 1 hour</option>',
        '<option value="Europe/Berlin" selected>',
        'name="always_submit" checked',
        f'name="muted" value="{room.slug}" checked',
        f'<input type="hidden" name="rule_room" value="{room.slug}">',
    ):
        assert chosen in page


def test_both_wrong_times_are_named_and_the_first_has_the_focus(browser: Client) -> None:
    page = browser.post(
        "/settings", {**CHOSEN, "quiet_from": "25:00", "quiet_to": "<script>"}
    ).content.decode()
    assert page.count("Enter a time such as 22:00.") == 2
    assert page.count("autofocus") == 1


def test_the_browser_is_asked_for_a_time_zone_until_one_is_chosen(browser: Client) -> None:
    assert "data-unchosen" in shown(browser)
    browser.post("/settings", {**CHOSEN, "time_zone": ""})  # quiet hours by the site's clock
    assert "data-unchosen" not in shown(browser)
    browser.post("/settings", CHOSEN)
    assert "data-unchosen" not in shown(browser)


@pytest.mark.parametrize(
    "wrong",
    [
        {"push": "3"},
        {"push": "-2"},
        {"mail": "x\x00"},
        {"time_zone": "../../etc/passwd"},
    ],
)
def test_nonsense_changes_nothing_else(browser: Client, ana: Any, wrong: dict[str, str]) -> None:
    assert browser.post("/settings", {**CHOSEN, **wrong}).status_code == 303
    kept = rules.preferences_of(ana)
    assert kept.push in (5, AT_ONCE)
    assert kept.mail in (60, OFF)


def test_a_room_may_differ_until_it_does_not(browser: Client, ana: Any, room: Room, other_room: Room) -> None:
    rule = {"rule_room": ["ops", "lab", ""], "rule_push": ["-1", "0", "0"], "rule_mail": ["", "0", "0"]}
    browser.post("/settings", {**CHOSEN, **rule})
    kept = NoticeRule.objects.get()
    # A foreign room gets no rule.
    assert (kept.user, kept.room, kept.push, kept.mail) == (ana, room, OFF, None)
    assert 'aria-label="Push from Operations"' in shown(browser)
    browser.post("/settings", {**CHOSEN, "rule_room": ["ops"], "rule_push": [""], "rule_mail": [""]})
    assert not NoticeRule.objects.exists()


# ---- devices ---------------------------------------------------------------------------------------------


def test_a_browser_is_added_shown_and_removed(browser: Client, ana: Any, service: PushService) -> None:
    reply = added(browser, service, User_Agent="Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Firefox/130.0")
    assert (reply.status_code, reply["Location"]) == (303, "/settings#ab-settings-devices")
    added(browser, service)
    device = PushSubscription.objects.get()
    assert device.user == ana
    assert "Browser" in shown(browser)
    browser.post("/settings/devices", {"remove": device.pk})
    assert not PushSubscription.objects.exists()


@pytest.mark.parametrize(
    ("user_agent", "label"),
    [
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/130.0 Safari/537.36 Edg/130.0", "Edge on Windows"),
        ("Mozilla/5.0 (Linux; Android 14) Chrome/130.0 Mobile Safari/537.36", "Chrome on Android"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari", "Safari on iPhone"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) Version/18.0 Safari/605", "Safari on Mac"),
        ("<script>alert(1)</script>", "Browser"),
    ],
)
def test_devices_are_told_apart(user_agent: str, label: str) -> None:
    assert push.label_of(user_agent) == label


@pytest.mark.parametrize(
    "said",
    [
        *("", "null", "[]", "{}", '{"endpoint": 1}', "x" * 10_000, "[" * 100_000),
        '{"endpoint": "https://push.example.org/x", "keys": {"p256dh": "AAAA", "auth": "AAAA"}}',
    ],
)
def test_what_no_browser_sends_is_refused(browser: Client, said: str) -> None:
    reply = browser.post("/settings/devices", {"subscription": said})
    assert reply.status_code == 422
    assert "This is not a valid push subscription." in reply.content.decode()
    assert not PushSubscription.objects.exists()


def test_an_endpoint_that_is_no_web_address_is_refused(browser: Client, service: PushService) -> None:
    for endpoint in ("file:///etc/passwd", "https://u:p@example.org", "https://example.org/" + "x" * 2000):
        said = json.dumps({**service.subscription(), "endpoint": endpoint})
        assert browser.post("/settings/devices", {"subscription": said}).status_code == 422
    assert not PushSubscription.objects.exists()


def test_another_persons_device_does_not_exist(browser: Client, ben: Any, service: PushService) -> None:
    device = push.add_device(ben, json.dumps(service.subscription()), "")
    for number in (device.pk, "x", "9" * 40, "²"):
        assert browser.post("/settings/devices", {"remove": number}).status_code == 404
    # But who signs in with the same browser takes it over.
    added(browser, service)
    assert PushSubscription.objects.get().user.username == "ana"


def test_the_number_of_devices_is_limited(browser: Client, ana: Any, service: PushService) -> None:
    for number in range(push.DEVICES_PER_PERSON):
        push.add_device(ana, json.dumps(service.subscription(f"device-{number}")), "")
    reply = added(browser, service)
    assert "You have too many devices: remove one first." in reply.content.decode()


def test_without_a_key_there_is_no_push_and_the_page_says_so(browser: Client, settings: Any) -> None:
    for key in ("", "no key"):
        settings.ASK_BRIDGE = {**settings.ASK_BRIDGE, "VAPID_PRIVATE_KEY": key}
        page = shown(browser)
        assert "Push notifications are not set up on this site" in page
        assert "add-device" not in page


# ---- trying it -------------------------------------------------------------------------------------------


def tried(browser: Client, channel: str) -> str:
    """The page after a test was sent, as a browser without JavaScript follows it there."""
    sent = browser.post("/settings/try", {"channel": channel})
    if sent.status_code != 303:
        return sent.content.decode()
    outbox.send_due()
    return browser.get(sent.url).content.decode()


def test_a_test_reaches_every_device(browser: Client, service: PushService) -> None:
    added(browser, service)
    page = tried(browser, "push")
    assert "Sent to 1 device." in page
    [message] = service.messages
    assert message["title"] == "Test from Ask Bridge"
    assert message["url"] == "/settings"
    assert message["tag"] == Notice.objects.get().pk


def test_what_is_wrong_with_a_device_is_said(browser: Client, service: PushService) -> None:
    added(browser, service)
    service.answer = lambda call: (410, {}, b"")
    page = tried(browser, "push")
    assert "Browser: The browser’s push subscription has expired or was revoked." in page
    assert "Add a device first." in tried(browser, "push")


@pytest.fixture
def post(settings: Any) -> Iterator[MailServer]:
    with mail_server() as running:
        use_mail_backend(settings, "smtp", host="127.0.0.1", port=running.port)
        yield running


def test_a_mail_can_be_tried(browser: Client, ana: Any, post: MailServer) -> None:
    assert "Your account has no e-mail address." in shown(browser)
    page = tried(browser, "mail")
    assert "Your account has no e-mail address." in page
    ana.email = "ana@example.org"
    ana.save()
    page = tried(browser, "mail")
    assert "Sent to ana@example.org." in page
    assert post.mails[0]["Subject"] == "Test from Ask Bridge"
    post.refusal = "550 not here"
    page = tried(browser, "mail")
    assert "The mail server replied 550: not here" in page


def test_a_site_without_a_mail_server_says_so(browser: Client, ana: Any, settings: Any) -> None:
    use_mail_backend(settings, "dummy")
    ana.email = "ana@example.org"
    ana.save()
    assert "E-mail is not set up on this site." in shown(browser)
    page = tried(browser, "mail")
    assert "E-mail is not set up on this site." in page


def test_tests_are_limited(browser: Client, service: PushService, settings: Any) -> None:
    settings.ASK_BRIDGE = {**settings.ASK_BRIDGE, "TESTS_PER_MINUTE": 1}
    added(browser, service)
    assert browser.post("/settings/try", {"channel": "push"}).status_code == 303
    assert browser.post("/settings/try", {"channel": "push"}).status_code == 429
    outbox.send_due()
    assert len(service.calls) == 1


# ---- the service worker ----------------------------------------------------------------------------------


def test_the_worker_reaches_all_our_pages(client: Client) -> None:
    reply = client.get("/service-worker.js")
    assert reply["Content-Type"] == "text/javascript; charset=utf-8"
    assert reply["Service-Worker-Allowed"] == "/"
    assert "no-cache" in reply["Cache-Control"]
    assert "default-src 'none'" in reply["Content-Security-Policy"]
    assert b"showNotification" in reply.content
