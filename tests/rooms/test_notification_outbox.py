"""The notification outbox: due rows that still hold are sent to local receivers, once or with the same id."""

import json
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta
from email.message import EmailMessage
from itertools import pairwise
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.utils import timezone

from rooms import lifecycle
from rooms.models import (
    Membership,
    Notice,
    NoticePreferences,
    Presence,
    PushSubscription,
    Question,
    Room,
    Webhook,
)
from rooms.models.notifications import AT_ONCE
from rooms.notifications import content, decision, outbox, planner, results, webhooks
from rooms.notifications.channels import email, push
from rooms.people import preferences, presence
from tests.harness.mail_backends import use_mail_backend
from tests.harness.receivers import MailServer, PushService, Receiver, mail_server, push_service, receiving

Ask = Callable[..., Question]


@pytest.fixture(autouse=True)
def loopback_is_allowed(settings: Any) -> None:
    settings.ASK_BRIDGE = {
        **settings.ASK_BRIDGE,
        "ORIGIN": "https://ask.example.org",
        "WEBHOOK_ALLOWED_NETWORKS": ["127.0.0.0/8"],
        "PUSH_ALLOWED_NETWORKS": ["127.0.0.0/8"],
    }


@pytest.fixture
def service() -> Iterator[PushService]:
    with push_service(push.public_key()) as running:
        yield running


@pytest.fixture
def phone(ana: Any, service: PushService) -> PushSubscription:
    user_agent = "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/130.0 Mobile Safari/537.36"
    return push.add_device(ana, json.dumps(service.subscription()), user_agent)


@pytest.fixture
def post(settings: Any) -> Iterator[MailServer]:
    with mail_server() as running:
        use_mail_backend(settings, "smtp", host="127.0.0.1", port=running.port)
        yield running


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


@pytest.fixture
def webhook(room: Room, ana: Any, receiver: Receiver) -> Webhook:
    return webhooks.add(room, ana, url=f"{receiver.url}/hook", label="hook")[0]


@pytest.fixture
def wants_mail(ana: Any) -> Any:
    ana.email = "ana@example.org"
    ana.save()
    return NoticePreferences.objects.create(user=ana, mail=AT_ONCE)


def send_due() -> int:
    planner.read()
    return outbox.send_due()


def make_due(**fields: Any) -> None:
    """Time passes."""
    Notice.objects.waiting().update(next_attempt_at=timezone.now(), **fields)
    Webhook.objects.filter(paused_until__isnull=False).update(paused_until=timezone.now())


# ---- the three ways --------------------------------------------------------------------------------------


def test_a_push_reaches_the_browser_encrypted_and_signed(
    service: PushService, phone: PushSubscription, ask: Ask
) -> None:
    question = ask()
    assert send_due() == 1
    [message] = service.messages
    assert message == {
        "title": "Database · Operations",
        "body": "Which database should we use?",
        "tag": f"card-{question.pk}",
        "url": f"/rooms/ops/questions/{question.pk}",
        "settled": False,
        "renotify": False,
        "icon": "/static/ask_bridge/icon-192.png",
        "actions": [{"action": "0", "title": "PostgreSQL"}, {"action": "1", "title": "SQLite"}],
        "answer": f"/rooms/ops/questions/{question.pk}/push",
        "unsent": "Could not send your answer. Open the card to try again.",
    }
    [call] = service.calls
    assert call.path == "/push/device"
    assert call.headers["Topic"] == question.pk
    assert call.headers["Urgency"] == "high"
    assert b"database" not in call.body
    phone.refresh_from_db()
    assert phone.last_success_at
    assert Notice.objects.get().sent_at


def test_all_that_a_push_says_is_written_before_it_is_sent(
    service: PushService, phone: PushSubscription, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask()
    planner.read()
    [parcel] = outbox.claim(4)
    # The thread that sends has no script prefix: asking for an address there would spoil it for all.
    monkeypatch.setattr(push, "static", lambda path: pytest.fail("too late for this"))
    assert outbox.send(parcel) is None
    assert service.messages[0]["icon"] == "/static/ask_bridge/icon-192.png"


def test_a_mail_has_the_question_a_link_and_a_way_out(post: MailServer, wants_mail: Any, ask: Ask) -> None:
    question = ask()
    send_due()
    [mail] = post.mails
    link = f"https://ask.example.org/rooms/ops/questions/{question.pk}"
    assert mail["To"] == "ana@example.org"
    assert mail["Subject"] == "Database · Operations"
    assert mail["Message-ID"] == f"<{Notice.objects.get().pk}@ask.example.org>"
    assert mail["List-Unsubscribe"] == "<https://ask.example.org/settings>"
    assert mail["Auto-Submitted"] == "auto-generated"
    text, html = (part_of(mail, kind) for kind in ("plain", "html"))
    assert "Which database should we use?" in text
    assert "- PostgreSQL (Recommended)" in text
    assert "refactor-bot is waiting for an answer in Operations:" in text
    assert link in text
    assert f'href="{link}"' in html


def part_of(mail: EmailMessage, kind: str) -> str:
    body = mail.get_body((kind,))
    assert body
    return str(body.get_content())


def test_a_mail_is_in_the_language_of_its_reader(post: MailServer, wants_mail: Any, ask: Ask) -> None:
    NoticePreferences.objects.update(language="de")
    ask(questions=[{"question": "Welche?", "options": ["A", "B"]}])
    send_due()
    assert post.mails[0]["Subject"].endswith("· Operations")
    assert '<html lang="de">' in part_of(post.mails[0], "html")


def test_what_an_agent_writes_is_neither_header_nor_markup(
    post: MailServer, service: PushService, phone: PushSubscription, wants_mail: Any, ask: Ask
) -> None:
    prompt = {
        "question": "Click\r\nBcc: victim@example.org\r\n\r\n<script>alert(1)</script> **now**?",
        "options": ["<img src=x>", "b"],
    }
    question = ask(questions=[prompt], agent={"name": "bot\u2028<i>x</i>"})
    # As it may be stored from before headers had to be one line.
    prompts = [{**question.prompts[0], "header": "A\nB: <b>c</b>"}]
    Question.objects.filter(pk=question.pk).update(prompts=prompts)
    send_due()
    [mail] = post.mails
    assert mail["Bcc"] is None
    assert mail["Subject"] == "A B: <b>c</b> · Operations"
    html = part_of(mail, "html")
    assert "<script" not in html
    assert "<img" not in html
    assert "<b>" not in html
    assert "&lt;img src=x&gt;" in html
    assert service.messages[0]["title"] == "A B: <b>c</b> · Operations"
    assert "\n" not in service.messages[0]["body"]


def test_a_webhook_gets_the_question_as_the_api_has_it(
    receiver: Receiver, webhook: Webhook, ask: Ask
) -> None:
    question = ask()
    send_due()
    [call] = receiver.calls
    event = call.json()
    notice = Notice.objects.get()
    assert event["id"] == call.headers["Idempotency-Key"] == notice.pk
    assert event["type"] == "question.asked"
    assert event["room"] == {"slug": "ops", "name": "Operations"}
    assert event["question"]["id"] == question.pk
    assert event["question"]["url"] == f"https://ask.example.org/rooms/ops/questions/{question.pk}"


# ---- still true? -----------------------------------------------------------------------------------------


def test_nothing_is_sent_before_its_time(receiver: Receiver, webhook: Webhook, ask: Ask) -> None:
    Webhook.objects.update(after_minutes=5)
    ask()
    assert send_due() == 0
    Question.objects.update(asked_at=timezone.now() - timedelta(minutes=5))
    make_due()
    assert send_due() == 1
    assert len(receiver.calls) == 1


def test_what_was_settled_meanwhile_is_never_sent(
    receiver: Receiver, webhook: Webhook, ask: Ask, ana: Any
) -> None:
    question = ask()
    planner.read()
    lifecycle.decline(question, ana)
    assert outbox.send_due() == 0
    assert (Notice.objects.get().last_error, receiver.calls) == ("The question is settled.", [])


def test_a_decision_that_can_be_undone_is_waited_for(receiver: Receiver, webhook: Webhook, ask: Ask) -> None:
    ask()
    planner.read()
    until = timezone.now() + timedelta(seconds=30)
    Question.objects.update(held_until=until)
    assert outbox.send_due() == 0
    assert Notice.objects.get().next_attempt_at == until


def test_who_has_a_page_open_is_not_called(
    ana: Any, service: PushService, phone: PushSubscription, ask: Ask
) -> None:
    presence.renew([ana.pk])
    ask()
    assert send_due() == 0
    notice = Notice.objects.get()
    assert not notice.cancelled_at
    assert notice.next_attempt_at > timezone.now()
    # The page is closed, and there is still no answer.
    Presence.objects.get(user=ana).delete()
    make_due()
    assert send_due() == 1
    assert len(service.calls) == 1


def test_who_lost_access_or_interest_is_not_called(
    ana: Any, room: Room, service: PushService, phone: PushSubscription, ask: Ask
) -> None:
    changes: list[Callable[[], Any]] = [
        lambda: Membership.objects.filter(user=ana).delete(),
        lambda: preferences.mute(ana, room, True),
        lambda: NoticePreferences.objects.create(user=ana, push=-1),
        lambda: lifecycle.archive_room(room),
    ]
    for change in changes:
        ask()
        planner.read()
        change()
        assert outbox.send_due() == 0
        assert Notice.objects.latest("created_at").cancelled_at
        Membership.objects.get_or_create(user=ana, room=room)
        preferences.mute(ana, room, False)
        NoticePreferences.objects.all().delete()
    assert service.calls == []


def test_quiet_hours_that_began_meanwhile_are_heeded(
    ana: Any, service: PushService, phone: PushSubscription, ask: Ask
) -> None:
    ask()
    planner.read()
    now = timezone.now()
    hours = {"quiet_from": (now - timedelta(hours=1)).time(), "quiet_to": (now + timedelta(hours=1)).time()}
    NoticePreferences.objects.create(user=ana, **hours)
    assert outbox.send_due() == 0
    assert Notice.objects.get().next_attempt_at > now + timedelta(minutes=59)


# ---- over ------------------------------------------------------------------------------------------------


def test_who_was_told_is_told_that_it_is_over(
    ana: Any,
    service: PushService,
    phone: PushSubscription,
    receiver: Receiver,
    webhook: Webhook,
    post: MailServer,
    wants_mail: Any,
    ask: Ask,
) -> None:
    question = ask()
    assert send_due() == 3
    lifecycle.decline(question, ana, "No.")
    assert send_due() == 2
    first, second = service.messages
    assert (second["settled"], second["body"]) == (True, "Skipped by Ana Costa")
    assert first["tag"] == second["tag"]
    assert service.calls[0].headers["Topic"] == service.calls[1].headers["Topic"]
    asked, settled = (call.json() for call in receiver.calls)
    assert (asked["type"], settled["type"]) == ("question.asked", "question.settled")
    assert settled["question"]["answer"]["reason"] == "No."
    assert len(post.mails) == 1
    assert send_due() == 0


def test_who_never_heard_of_it_does_not_hear_of_its_end(
    ana: Any, receiver: Receiver, webhook: Webhook, ask: Ask
) -> None:
    receiver.answer = lambda call: (500, {}, b"")
    question = ask()
    send_due()
    lifecycle.decline(question, ana)
    make_due()
    assert send_due() == 0
    assert set(Notice.objects.values_list("kind", "last_error")) == {
        ("asked", "The question is settled."),
        ("settled", "The receiver was not notified of the question."),
    }


@pytest.mark.parametrize("loss", ["membership", "account"])
def test_who_lost_access_does_not_hear_how_it_ended(
    ana: Any, ben: Any, service: PushService, phone: PushSubscription, ask: Ask, loss: str
) -> None:
    question = ask()
    assert send_due() == 1
    lifecycle.decline(question, ben, "No.")
    planner.read()
    if loss == "membership":
        Membership.objects.filter(user=ana).delete()
    else:
        get_user_model().objects.filter(pk=ana.pk).update(is_active=False)
    assert outbox.send_due() == 0
    assert Notice.objects.get(kind="settled").last_error == decision.NOT_WANTED
    assert len(service.calls) == 1


def test_an_archived_room_still_says_that_its_questions_are_over(
    service: PushService, phone: PushSubscription, room: Room, ask: Ask
) -> None:
    ask()
    assert send_due() == 1
    lifecycle.archive_room(room)
    assert send_due() == 1
    assert [message["settled"] for message in service.messages] == [False, True]


def test_a_device_that_changed_hands_hears_nothing_that_was_meant_for_another(
    ben: Any, service: PushService, phone: PushSubscription, ask: Ask
) -> None:
    question = ask()
    assert send_due() == 1
    waiting = ask()
    planner.read()
    # Ben signs in with the same browser.
    push.add_device(ben, json.dumps(service.subscription()), "")
    lifecycle.decline(question, ben)
    assert send_due() == 0
    assert Notice.objects.get(question=waiting).last_error == decision.NO_RECEIVER
    assert not Notice.objects.filter(kind="settled").exists()
    assert len(service.calls) == 1


def test_a_device_that_changes_hands_after_the_end_hears_nothing_of_it(
    ben: Any, service: PushService, phone: PushSubscription, ask: Ask
) -> None:
    question = ask()
    assert send_due() == 1
    lifecycle.decline(question, ben)
    planner.read()
    push.add_device(ben, json.dumps(service.subscription()), "")
    assert outbox.send_due() == 0
    assert Notice.objects.get(kind="settled").last_error == decision.NO_RECEIVER


# ---- what goes wrong -------------------------------------------------------------------------------------


def test_a_failure_is_tried_again_later_and_later_with_the_same_id(
    receiver: Receiver, webhook: Webhook, ask: Ask
) -> None:
    receiver.answer = lambda call: (503, {}, b"in the making")
    ask()
    pauses = []
    for attempt in range(1, decision.MOST_ATTEMPTS + 1):
        assert send_due() == 1
        notice = Notice.objects.get()
        assert notice.attempts == attempt
        assert notice.last_error == "The receiver replied 503: in the making"
        pauses.append((notice.next_attempt_at - timezone.now()).total_seconds())
        assert send_due() == 0
        make_due()
    assert notice.failed_at
    assert 20 < pauses[0] < 40
    for before, after in pairwise(pauses[:7]):
        assert 1.5 * before < after < 6 * before
    assert len(set(receiver.ids)) == 1
    assert len(receiver.calls) == decision.MOST_ATTEMPTS


def test_a_wish_to_wait_is_obeyed(receiver: Receiver, webhook: Webhook, ask: Ask) -> None:
    receiver.answer = lambda call: (429, {"Retry-After": "3600"}, b"")
    ask()
    send_due()
    assert Notice.objects.get().next_attempt_at > timezone.now() + timedelta(minutes=59)


def test_what_is_older_than_a_day_is_given_up(receiver: Receiver, webhook: Webhook, ask: Ask) -> None:
    receiver.answer = lambda call: (500, {}, b"")
    ask()
    send_due()
    make_due(due_at=timezone.now() - timedelta(days=1, minutes=1))
    assert send_due() == 0
    assert Notice.objects.get().cancelled_at


@pytest.mark.parametrize("status", [404, 410])
def test_a_browser_that_is_gone_is_forgotten(
    service: PushService, phone: PushSubscription, ask: Ask, status: int
) -> None:
    service.answer = lambda call: (status, {}, b"")
    ask()
    send_due()
    assert not PushSubscription.objects.exists()
    notice = Notice.objects.get()
    assert notice.failed_at
    assert notice.last_error == "The browser’s push subscription has expired or was revoked."


def test_a_push_service_that_refuses_us_is_not_asked_again(
    service: PushService, phone: PushSubscription, ask: Ask
) -> None:
    service.application_key = "another"
    ask()
    send_due()
    assert Notice.objects.get().last_error == "The receiver replied 403: another application"
    assert Notice.objects.get().failed_at
    phone.refresh_from_db()
    assert phone.failures == 1


@pytest.mark.parametrize(("refusal", "is_final"), [("550 no such user", True), ("450 later", False)])
def test_a_mail_server_says_whether_to_try_again(
    post: MailServer, wants_mail: Any, ask: Ask, refusal: str, is_final: bool
) -> None:
    post.refusal = refusal
    ask()
    send_due()
    notice = Notice.objects.get()
    assert bool(notice.failed_at) is is_final
    code, said = refusal.split(" ", 1)
    assert notice.last_error == f"The mail server replied {code}: {said}"


def test_a_mail_server_that_is_away_is_asked_again(
    wants_mail: Any, ask: Ask, settings: Any, receiver: Receiver
) -> None:
    use_mail_backend(settings, "smtp", host="127.0.0.1", port=9, timeout=1)
    ask()
    send_due()
    notice = Notice.objects.get()
    assert not notice.failed_at
    assert "The mail server cannot be reached" in notice.last_error


def test_a_mail_server_that_says_nothing_is_left(
    wants_mail: Any, ask: Ask, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(email, "TIMEOUT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host, port = silent.getsockname()
        use_mail_backend(settings, "smtp", host=host, port=port, timeout=None)
        ask()
        send_due()
    assert "The mail server cannot be reached" in Notice.objects.get().last_error


def test_private_addresses_are_refused_for_good(
    ana: Any, room: Room, ask: Ask, settings: Any, phone: PushSubscription, service: PushService
) -> None:
    # What webhooks may reach is not open to whatever a browser names.
    settings.ASK_BRIDGE = {**settings.ASK_BRIDGE, "PUSH_ALLOWED_NETWORKS": []}
    webhooks.add(room, ana, url="http://169.254.169.254/latest/meta-data", label="x")
    ask()
    assert send_due() == 2
    assert Notice.objects.filter(failed_at__isnull=False).count() == 2
    assert service.calls == []


def test_push_goes_by_https_to_public_addresses_only(
    ana: Any, service: PushService, phone: PushSubscription, ask: Ask, settings: Any
) -> None:
    settings.ASK_BRIDGE = {**settings.ASK_BRIDGE, "PUSH_ALLOWED_NETWORKS": []}
    with pytest.raises(push.NotADevice):
        push.add_device(ana, json.dumps(service.subscription("other")), "")
    ask()
    send_due()
    assert Notice.objects.get().last_error == "The address of a push service must begin with https://."
    PushSubscription.objects.update(endpoint=phone.endpoint.replace("http:", "https:"))
    ask()
    send_due()
    assert "PUSH_ALLOWED_NETWORKS can allow it" in Notice.objects.order_by("pk").last().last_error
    assert service.calls == []


# ---- killed in between -----------------------------------------------------------------------------------


def test_what_a_dead_process_had_in_hand_is_sent_again_with_the_same_id(
    receiver: Receiver, webhook: Webhook, ask: Ask
) -> None:
    ask()
    planner.read()
    [parcel] = outbox.claim(4)
    assert outbox.send(parcel) is None
    # It arrived, but its sender died before it noted so. Until the lease ends no other sender takes it.
    assert outbox.claim(4) == []
    Notice.objects.update(leased_until=timezone.now())
    assert outbox.send_due() == 1
    assert len(receiver.ids) == 2
    assert len(set(receiver.ids)) == 1
    assert Notice.objects.get().attempts == 2


def test_what_may_have_arrived_before_a_process_died_is_ended_too(
    ana: Any, receiver: Receiver, webhook: Webhook, ask: Ask
) -> None:
    question = ask()
    planner.read()
    [parcel] = outbox.claim(4)
    assert outbox.send(parcel) is None
    lifecycle.decline(question, ana)
    # The owner of the lease may still be sending.
    assert send_due() == 0
    Notice.objects.update(leased_until=None)
    make_due()
    send_due()
    make_due()
    send_due()
    assert [call.json()["type"] for call in receiver.calls] == ["question.asked", "question.settled"]


def test_what_processes_die_on_again_and_again_is_given_up(
    receiver: Receiver, webhook: Webhook, ask: Ask
) -> None:
    ask()
    planner.read()
    for _ in range(decision.MOST_ATTEMPTS):
        assert len(outbox.claim(4)) == 1
        Notice.objects.update(leased_until=timezone.now())
    assert outbox.claim(4) == []
    assert Notice.objects.get().last_error == "Too many failed attempts."


def test_what_cannot_be_written_holds_up_no_other(
    receiver: Receiver, webhook: Webhook, room: Room, ana: Any, ask: Ask
) -> None:
    ask()
    broken = ask()
    Question.objects.filter(pk=broken.pk).update(prompts=[])
    webhooks.add(room, ana, url=f"{receiver.url}/other", label="other")
    ask()
    send_due()
    send_due()
    assert {call.path for call in receiver.calls} == {"/hook", "/other"}
    failed = Notice.objects.get(question=broken)
    assert (failed.attempts, failed.failures) == (1, 1)
    assert failed.last_error.startswith("IndexError")


def test_a_receiver_gets_one_at_a_time_and_delays_no_other(
    receiver: Receiver, webhook: Webhook, service: PushService, phone: PushSubscription, ask: Ask
) -> None:
    for _ in range(3):
        ask()
    planner.read()
    parcels = outbox.claim(4)
    assert sorted(parcel.notice.target for parcel in parcels) == [f"push:{phone.pk}", f"webhook:{webhook.pk}"]
    assert outbox.claim(4, in_flight=parcels) == []


def hosts_of(parcels: list[outbox.Delivery]) -> list[str]:
    return sorted(parcel.notice.webhook.host for parcel in parcels if parcel.notice.webhook)


def test_receivers_that_fail_leave_threads_for_others(room: Room, ana: Any, ask: Ask) -> None:
    for number in range(10):
        webhooks.add(room, ana, url=f"https://bad-{number}.example", label="bad")
    Webhook.objects.filter(pk__in=list(Webhook.objects.values_list("pk", flat=True)[:5])).update(failures=1)
    Webhook.objects.filter(failures=0).update(is_slow=True)
    for _ in range(5):
        ask()
    planner.read()
    parcels = outbox.claim(outbox.THREADS)
    assert len(parcels) == outbox.THREADS_FOR_UNHEALTHY
    webhooks.add(room, ana, url="https://good.example", label="good")
    ask()
    planner.read()
    # Behind all that is due for the others, and though as many of them as may have theirs in flight.
    assert hosts_of(outbox.claim(outbox.THREADS - len(parcels), parcels)) == ["good.example"]


def test_the_backlog_of_a_receiver_does_not_hide_what_is_due_for_others(
    room: Room, ana: Any, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "CLAIM_BATCH", 2)
    webhooks.add(room, ana, url="https://first.example", label="first")
    for _ in range(5):
        ask()
    webhooks.add(room, ana, url="https://second.example", label="second")
    ask()
    planner.read()
    assert hosts_of(outbox.claim(outbox.THREADS)) == ["first.example", "second.example"]


def test_a_host_has_a_few_deliveries_at_once_however_many_receivers_it_serves(
    room: Room, ana: Any, service: PushService, ask: Ask
) -> None:
    for number in range(6):
        webhooks.add(room, ana, url=f"https://many.example/{number}", label="x")
        push.add_device(ana, json.dumps(service.subscription(f"device-{number}")), "")
    webhooks.add(room, ana, url="https://other.example", label="other")
    ask()
    planner.read()
    parcels = outbox.claim(outbox.THREADS)
    most = outbox.THREADS_PER_HOST
    assert hosts_of(parcels) == ["many.example"] * most + ["other.example"]
    assert len([parcel for parcel in parcels if parcel.notice.subscription]) == most
    assert outbox.claim(outbox.THREADS, parcels) == []
    [one_of_many] = [parcel for parcel in parcels if parcel.notice.target == f"webhook:{first_webhook().pk}"]
    parcels.remove(one_of_many)
    assert hosts_of(outbox.claim(outbox.THREADS, parcels)) == ["many.example"]


def first_webhook() -> Webhook:
    return Webhook.objects.earliest("pk")


def test_a_receiver_that_fails_again_and_again_is_paused_for_longer_and_longer(
    receiver: Receiver, webhook: Webhook, ask: Ask
) -> None:
    receiver.answer = lambda call: (503, {}, b"")
    for _ in range(results.FAILURES_BEFORE_PAUSE):
        ask()
    send_due()
    assert len(receiver.calls) == results.FAILURES_BEFORE_PAUSE
    pauses = []
    for count in range(8):
        webhook.refresh_from_db()
        assert webhook.is_paused
        assert webhook.failures == results.FAILURES_BEFORE_PAUSE + count
        pauses.append(round((webhook.paused_until - timezone.now()).total_seconds() / 60))
        ask()
        assert send_due() == 0
        Webhook.objects.update(paused_until=timezone.now())
        # One of those that had waited is tried, and the next not any more.
        assert send_due() == 1
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    receiver.answer = lambda call: (200, {}, b"")
    make_due()
    send_due()
    assert not Notice.objects.waiting().exists()
    webhook.refresh_from_db()
    assert (webhook.failures, webhook.paused_until) == (0, None)


def test_a_device_that_fails_again_and_again_is_paused(
    service: PushService, phone: PushSubscription, ask: Ask
) -> None:
    service.answer = lambda call: (503, {}, b"")
    for _ in range(results.FAILURES_BEFORE_PAUSE + 1):
        ask()
    send_due()
    assert len(service.calls) == results.FAILURES_BEFORE_PAUSE
    phone.refresh_from_db()
    assert phone.is_paused


def test_a_receiver_that_was_slow_is_known_to_be(
    receiver: Receiver, webhook: Webhook, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "SLOW_SECONDS", 0)
    ask()
    send_due()
    webhook.refresh_from_db()
    assert webhook.is_slow
    monkeypatch.setattr(outbox, "SLOW_SECONDS", 3600)
    ask()
    send_due()
    webhook.refresh_from_db()
    assert not webhook.is_slow


def test_many_who_look_at_a_page_do_not_keep_others_from_theirs(
    ana: Any, receiver: Receiver, webhook: Webhook, phone: PushSubscription, ask: Ask
) -> None:
    presence.renew([ana.pk])
    for _ in range(6):
        ask()
    planner.read()
    assert {parcel.notice.channel for parcel in outbox.claim(1)} == {"webhook"}


def test_the_command_sends_what_is_due(receiver: Receiver, webhook: Webhook, ask: Ask, capsys: Any) -> None:
    ask()
    call_command("send_notices")
    assert capsys.readouterr().out == "Notifications tried: 1.\n"
    assert len(receiver.calls) == 1


def test_what_is_long_past_is_forgotten(receiver: Receiver, webhook: Webhook, ask: Ask) -> None:
    for _ in range(2):
        ask()
    send_due()
    oldest = Notice.objects.earliest("pk")
    Notice.objects.filter(pk=oldest.pk).update(created_at=timezone.now() - timedelta(days=31))
    outbox.forget_old()
    assert Notice.objects.count() == 1
    # And does not come back.
    send_due()
    assert len(receiver.calls) == 2


def test_what_failed_can_be_sent_again(receiver: Receiver, webhook: Webhook, ask: Ask) -> None:
    receiver.answer = lambda call: (302, {"Location": "/"}, b"")
    ask()
    send_due()
    assert Notice.objects.get().last_error == "The receiver replied with a redirect, which is not followed."
    receiver.answer = lambda call: (200, {}, b"")
    assert outbox.send_again(Notice.objects.all()) == 1
    assert send_due() == 1
    assert Notice.objects.get().sent_at
    assert outbox.send_again(Notice.objects.all()) == 0


def test_a_notice_shows_no_raw_markdown(ask: Ask) -> None:
    prompt = {
        "question": "Which **store** for [sessions](https://example.com)?",
        "header": "The `store`",
        "options": ["**PostgreSQL** (Recommended)", "`Redis`"],
    }
    letter = content.content_about(Notice.Kind.ASKED, ask(questions=[prompt]))
    assert letter.title.startswith("The store · ")
    assert letter.body == "Which store for sessions?"
    assert letter.options == ("PostgreSQL (Recommended)", "Redis")
