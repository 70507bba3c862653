"""Every notification arrives, once by its id, while the processes that send them are killed repeatedly."""

import json
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.faults.restarts import RestartableBridge, restartable_bridge
from tests.harness.agents import Agent
from tests.harness.figures import report
from tests.harness.receivers import (
    Call,
    MailServer,
    PushService,
    Receiver,
    mail_server,
    push_service,
    receiving,
)
from tests.harness.sites import run_manage
from tests.harness.timing import eventually

KILLS = 4
QUESTIONS_PER_KILL = 2
# A lease of half a minute, some of it twice, on a machine that has other things to do.
ARRIVAL_SECONDS = 120

# Ana wants everything there is.
PREPARE = """
import json
from django.contrib.auth import get_user_model
from rooms.notifications import webhooks
from rooms.notifications.channels import push as webpush
from rooms.models import NoticePreferences, Room
ana = get_user_model().objects.get(username="ana")
ana.email = "ana@example.org"
ana.save()
NoticePreferences.objects.create(user=ana, mail=0)
webpush.add_device(ana, {subscription!r}, "Firefox on Linux")
for room in Room.objects.filter(slug__startswith="room-"):
    webhooks.add(room, ana, url={url!r}, label="x")
"""


@dataclass
class Post:
    """All receivers, and a sign that one of them has just got something and has not confirmed it yet."""

    webhook: Receiver
    push: PushService
    mail: MailServer
    has_come: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        chance = random.Random(7)

        def dawdle() -> None:
            self.has_come.set()
            time.sleep(chance.choice([0, 0, 0.3, 1]))

        def take(call: Call) -> tuple[int, dict[str, str], bytes]:
            dawdle()
            return 200, {}, b""

        self.webhook.answer = self.push.answer = take
        self.mail.on_mail = dawdle

    def events(self, kind: str) -> Iterator[tuple[str, str]]:
        """Question and id of what the webhook was told."""
        for event in [call.json() for call in self.webhook.calls]:
            if event["type"] == f"question.{kind}":
                yield event["question"]["id"], event["id"]

    def mails(self) -> Iterator[tuple[str, str]]:
        for mail in list(self.mail.mails):
            body = mail.get_body(("plain",))
            assert body
            [question] = re.findall(r"/questions/(\w+)", body.get_content())
            yield question, mail["Message-ID"]

    def pushes(self, *, settled: bool) -> Iterator[tuple[str, str]]:
        """A browser shows one notification for a tag, however often it comes."""
        for message in self.push.messages:
            if message["settled"] is settled:
                yield message["tag"].removeprefix("card-"), message["tag"]


@pytest.fixture
def post() -> Iterator[Post]:
    with receiving() as webhook, push_service() as push, mail_server() as mail:
        yield Post(webhook, push, mail)


def ids_by_question(told: Iterator[tuple[str, str]]) -> dict[str, set[str]]:
    found = defaultdict(set)
    for question, notice in told:
        found[question].add(notice)
    return found


def all_arrived(told: Callable[[], Iterator[tuple[str, str]]], asked: list[Any]) -> None:
    questions = {question["id"] for question in asked}
    eventually(lambda: questions <= ids_by_question(told()).keys(), ARRIVAL_SECONDS)
    assert {len(ids) for ids in ids_by_question(told()).values()} == {1}


def settings_for(post: Post) -> dict[str, str]:
    return {
        "ORIGIN": "https://ask.example.org",
        "EMAIL_URL": post.mail.url,
        "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
        "PUSH_ALLOWED_NETWORKS": "127.0.0.0/8",
    }


def prepare(bridge: RestartableBridge, post: Post) -> None:
    device = json.dumps(post.push.subscription())
    script = PREPARE.format(subscription=device, url=f"{post.webhook.url}/hook")
    done = run_manage(bridge.environment, "shell", "-v0", "-c", script)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["embedded", "scaled"])
def test_each_notice_arrives_once_by_its_id(kind: str, tmp_path: Path, post: Post) -> None:
    rooms = ["room-0", "room-1"]
    with restartable_bridge(kind, tmp_path / "data", rooms, settings_for(post)) as bridge:
        prepare(bridge, post)
        agents = [bridge.agent() for _ in rooms]
        asked = ask_and_kill(bridge, agents, post, random.Random(kind))
        all_arrived(lambda: post.events("asked"), asked)
        all_arrived(post.mails, asked)
        all_arrived(lambda: post.pushes(settled=False), asked)
        for question in asked:
            bridge.person("ben").answer(question, "SQLite")
        all_arrived(lambda: post.events("settled"), asked)
        all_arrived(lambda: post.pushes(settled=True), asked)
        again = Counter(post.webhook.ids + post.mail.ids)
        report(
            f"{kind}: {KILLS} kills, {len(asked)} questions, {len(again)} webhooks and mails arrived, "
            f"{sum(count - 1 for count in again.values())} of them a second time with the same id"
        )


def ask_and_kill(
    bridge: RestartableBridge, agents: list[Agent], post: Post, chance: random.Random
) -> list[Any]:
    """Kill while notices are made, on their way, or taken and not yet confirmed."""
    asked = []
    for _ in range(KILLS):
        post.has_come.clear()
        asked += [chance.choice(agents).ask() for _ in range(QUESTIONS_PER_KILL)]
        if chance.random() < 0.5:
            post.has_come.wait(timeout=5)
        time.sleep(chance.uniform(0, 1))
        numbers = list(range(len(bridge.sites)))
        bridge.kill_and_start_again(chance.choice([[number] for number in numbers] + [numbers]))
        for agent in agents:
            agent.site = bridge.sites[0]
    return asked


def test_a_receiver_that_hangs_holds_up_no_stop(tmp_path: Path, post: Post) -> None:
    has_come, may_go = Event(), Event()

    def hang(call: Call) -> tuple[int, dict[str, str], bytes]:
        has_come.set()
        may_go.wait(30)
        return 200, {}, b""

    post.webhook.answer = hang
    settings = {name: value for name, value in settings_for(post).items() if name != "ORIGIN"}
    with restartable_bridge("embedded", tmp_path / "data", ["room-0"], settings) as bridge:
        prepare(bridge, post)
        bridge.agent().ask()
        assert has_come.wait(15)
        # A site that was told nothing else is where it listens.
        url = post.webhook.calls[0].json()["question"]["url"]
        assert url.startswith(f"http://127.0.0.1:{bridge.site.port}/rooms/room-0/")
        begun = time.monotonic()
        bridge.site.process.terminate()
        assert bridge.site.process.wait(10) == 0
        assert time.monotonic() - begun < 5
        may_go.set()
