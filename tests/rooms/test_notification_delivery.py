"""Notification delivery: due notifications are sent in parallel, and a slow receiver delays no other."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from django.utils import timezone

from rooms.models import Notice, Question, Room
from rooms.notifications import delivery, planner, safe_http, webhooks
from rooms.notifications.delivery import DeliveryWorker
from tests.harness.database_pool import close_pool_connections
from tests.harness.receivers import Answer, Call, Receiver, receiving

pytestmark = pytest.mark.django_db(transaction=True)

Ask = Callable[..., Question]


@pytest.fixture(autouse=True)
def loopback_is_allowed(settings: Any) -> None:
    allowed = {"ORIGIN": "https://ask.example.org", "WEBHOOK_ALLOWED_NETWORKS": ["127.0.0.0/8"]}
    settings.ASK_BRIDGE = {**settings.ASK_BRIDGE, **allowed}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


def go_round() -> None:
    async def go() -> None:
        try:
            await DeliveryWorker().send_due()
        finally:
            await close_pool_connections()

    asyncio.run(go())


def test_all_that_is_due_goes_out_in_one_round(room: Room, ana: Any, receiver: Receiver, ask: Ask) -> None:
    for path in ("a", "b"):
        webhooks.add(room, ana, url=f"{receiver.url}/{path}", label=path)
    for _ in range(6):
        ask()
    planner.read()
    go_round()
    assert Notice.objects.filter(sent_at__isnull=False, attempts=1).count() == 12


def test_a_slow_receiver_gets_one_at_a_time_and_delays_no_other(
    room: Room, ana: Any, receiver: Receiver, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No receiver is given up because this machine is busy.
    monkeypatch.setattr(safe_http, "TIMEOUT_SECONDS", 60)
    monkeypatch.setattr(safe_http, "DEADLINE_SECONDS", 60)
    monkeypatch.setattr(delivery, "DELIVERY_SECONDS", 60)
    others_are_done, slow_hand = threading.Event(), threading.Lock()
    fast: list[str] = []

    def answer(call: Call) -> Answer:
        if call.path == "/slow":
            if not slow_hand.acquire(blocking=False):
                return 500, {}, b"two at once"
            were_held_up = not others_are_done.wait(30)
            slow_hand.release()
            return (500, {}, b"held up") if were_held_up else (200, {}, b"")
        fast.append(call.path)
        if len(fast) == 3:
            others_are_done.set()
        return 200, {}, b""

    receiver.answer = answer
    for path in ("slow", "fast"):
        webhooks.add(room, ana, url=f"{receiver.url}/{path}", label=path)
    for _ in range(3):
        ask()
    planner.read()
    go_round()
    assert list(Notice.objects.values_list("last_error", flat=True)) == [""] * 6
    assert not Notice.objects.waiting().exists()


def test_five_slow_receivers_with_a_backlog_do_not_delay_another(
    room: Room, ana: Any, receiver: Receiver, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((safe_http, "TIMEOUT_SECONDS"), (safe_http, "DEADLINE_SECONDS")):
        monkeypatch.setattr(module, name, 60)
    monkeypatch.setattr(delivery, "DELIVERY_SECONDS", 60)
    good_is_done = threading.Event()

    def drip(call: Call) -> Answer:
        return (200, {}, b"") if good_is_done.wait(30) else (500, {}, b"the other had to wait")

    def take(call: Call) -> Answer:
        if len(receiver.calls) == 3:
            good_is_done.set()
        return 200, {}, b""

    receiver.answer = take
    with ExitStack() as running:
        for number in range(5):
            slow = running.enter_context(receiving(Receiver(answer=drip)))
            webhooks.add(room, ana, url=slow.url, label=f"slow {number}")
        for _ in range(3):
            ask()
        # It comes last: all that is due for the others is older.
        webhooks.add(room, ana, url=receiver.url, label="good")
        for _ in range(3):
            ask()
        planner.read()
        go_round()
    assert set(Notice.objects.values_list("last_error", flat=True)) == {""}
    assert not Notice.objects.waiting().exists()


def test_a_blocked_sender_is_freed_and_its_notification_was_not_sent(
    room: Room, ana: Any, receiver: Receiver, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "DELIVERY_SECONDS", 0.1)
    is_over = threading.Event()
    receiver.answer = lambda call: (200, {}, b"") if is_over.wait(4) else (500, {}, b"")
    webhooks.add(room, ana, url=receiver.url, label="x")
    ask()
    planner.read()
    go_round()
    is_over.set()
    notice = Notice.objects.waiting().get()
    assert (notice.attempts, notice.failures, notice.last_error) == (1, 1, "It timed out.")
    assert notice.next_attempt_at > timezone.now()
