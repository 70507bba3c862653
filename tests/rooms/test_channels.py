"""Notification channels: a new one needs a class and an entry in the registry, nothing else."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from django.utils import timezone

from rooms import lifecycle
from rooms.models import Notice, NoticePreferences, NoticeRule, Question, Room
from rooms.notifications import outbox, planner, safe_http
from rooms.notifications.channels.channel import Channel, People, Recipient
from rooms.notifications.channels.registry import CHANNELS, personal_channels
from rooms.notifications.content import Content

Ask = Callable[..., Question]


class Pager(Channel):
    """A made-up channel without rows of its own: one pager for each room."""

    name = "pager"

    def __init__(self) -> None:
        self.pages: list[str] = []
        self.problem: Exception | None = None

    def recipients(self, room: Room, people: People) -> Iterable[Recipient]:
        return [Recipient(self.name, room.slug)]

    def recipient_of_outcome(self, notice: Notice) -> Recipient | None:
        return Recipient(self.name, notice.target.removeprefix("pager:"))

    def has_recipient(self, notice: Notice) -> bool:
        return True

    def success_text(self, tests: Sequence[Notice]) -> str:
        return "Paged."

    def send_later(self, notice: Notice, content: Content) -> Callable[[], None]:
        def send() -> None:
            if self.problem:
                raise self.problem
            self.pages.append(f"{content.kind}: {content.title}")

        return send


@pytest.fixture
def pager(monkeypatch: pytest.MonkeyPatch) -> Pager:
    made_up = Pager()
    monkeypatch.setitem(CHANNELS, made_up.name, made_up)
    return made_up


def test_a_new_channel_sends_what_is_asked_and_how_it_ended(pager: Pager, ask: Ask, ana: Any) -> None:
    question = ask()
    planner.read()
    assert outbox.send_due() == 1
    lifecycle.decline(question, ana)
    planner.read()
    assert outbox.send_due() == 1
    assert pager.pages == ["asked: Database · Operations", "settled: Database · Operations"]
    assert set(Notice.objects.values_list("channel", "target")) == {("pager", "pager:ops")}
    assert not Notice.objects.waiting().exists()


def test_a_failed_delivery_of_a_new_channel_is_retried(pager: Pager, ask: Ask) -> None:
    pager.problem = safe_http.Unreachable("No signal.")
    ask()
    planner.read()
    assert outbox.send_due() == 1
    notice = Notice.objects.get()
    assert (notice.last_error, notice.failures, notice.failed_at) == ("No signal.", 1, None)
    pager.problem = None
    Notice.objects.update(next_attempt_at=timezone.now())
    assert outbox.send_due() == 1
    assert pager.pages == ["asked: Database · Operations"]


def test_notices_of_a_channel_that_a_process_does_not_know_are_left_alone(
    pager: Pager, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask()
    planner.read()
    monkeypatch.delitem(CHANNELS, pager.name)
    assert outbox.send_due() == 0
    assert Notice.objects.waiting().count() == 1


def test_the_admin_knows_every_channel_by_name() -> None:
    assert set(CHANNELS) == set(Notice.Channel.values)


def test_every_personal_channel_has_its_delay_in_preferences_and_rules() -> None:
    for channel in personal_channels():
        for model in (NoticePreferences, NoticeRule):
            assert model._meta.get_field(channel.name)
