"""Ordinary operations of people, agents and the hub, each as one call to measure or to count.

Pages and the API go through the whole site with a real session and a real key; what the hub does by itself
is called as the hub calls it.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from rooms import access, lifecycle
from rooms.contract.payload import parse_ask
from rooms.history import earlier_answers, writer
from rooms.live import events, hub
from rooms.models import Membership, Question, Room
from rooms.notifications import planner
from rooms.people import presence

ASK = {
    "agent": {"name": "refactor-bot"},
    "questions": [{"question": "Which database?", "options": ["PostgreSQL", "SQLite"]}],
}
REPLAYED = 50
# Agents that wait in one busy process.
WAITS = 200


@dataclass(frozen=True)
class Operation:
    """One call, with what it needs made ready before."""

    name: str
    act: Callable[[Any], Any]
    prepare: Callable[[], Any] = lambda: None


class Operations:
    """One person and one agent in a room, and the hub of a process where they meet."""

    def __init__(self, room: Room, username: str = "ana") -> None:
        self.room = room
        self.user = get_user_model()._default_manager.get_by_natural_key(username)
        self.key, self._text = access.create_key(room, label="daily")
        self.browser, self._agent, self._admin = (Client(SERVER_NAME="127.0.0.1") for _ in range(3))
        self.browser.force_login(self.user)
        root, _ = get_user_model().objects.get_or_create(
            username="root", defaults={"is_staff": True, "is_superuser": True}
        )
        self._admin.force_login(root)
        self.open_ids = list(room.questions.open().values_list("pk", flat=True)[:WAITS])
        self.room_ids = list(access.visible_rooms(self.user).values_list("pk", flat=True))
        self.member_ids = list(Membership.objects.filter(room=room).values_list("user_id", flat=True))
        self.middle = room.revision // 2

    def all(self) -> list[Operation]:
        """In the order in which a report lists them."""
        return [
            Operation("room page", lambda _: self._page(f"/rooms/{self.room.slug}")),
            Operation("older page", lambda _: self._page(f"/rooms/{self.room.slug}?before={self.middle}")),
            Operation("inbox", lambda _: self._page("/")),
            Operation("ask", lambda _: self._send("POST", f"/api/v1/rooms/{self.room.slug}/questions", ASK)),
            Operation("answer", self._answer, self.ask),
            Operation(
                "wait", lambda asked: self._send("GET", f"/api/v1/questions/{asked.pk}?wait=1"), self.ask
            ),
            Operation("messages", self._read_messages, self._last_id),
            Operation("feed of 1 change", lambda since: self.replay(since), lambda: self.revision() - 1),
            Operation(f"replay of {REPLAYED}", self.replay, lambda: self.revision() - REPLAYED),
            Operation("sweep, nothing due", lambda _: lifecycle.sweep(), lifecycle.sweep),
            Operation("sweep, 2 due", lambda _: lifecycle.sweep(), self._make_due),
            Operation("renew leases", lambda _: lifecycle.renew_leases(self.open_ids)),
            Operation("look again", lambda _: self._look_again()),
            Operation("who is here", lambda _: presence.renew_and_look(self.member_ids, self.room_ids)),
            Operation("admin: questions", lambda _: self._list("question")),
            Operation("admin: audit", lambda _: self._list("auditentry")),
        ]

    def history_operations(self) -> list[Operation]:
        """Operations on the history, where it is written."""
        room = f"/api/v1/rooms/{self.room.slug}"
        return [
            Operation("history page", lambda _: self._page("/history")),
            Operation("history search", lambda _: self._page("/history?q=database")),
            Operation("memory", lambda _: self._send("GET", f"{room}/memory?q=Deploy")),
            Operation("write history of 1", lambda _: writer.catch_up(), self._settle_one),
            Operation(
                "recall for 1",
                lambda _: earlier_answers.catch_up(),
                lambda: self._ask_after(earlier_answers.catch_up),
            ),
            Operation("notices of 1", lambda _: planner.read(), lambda: self._ask_after(planner.read)),
        ]

    def ask(self) -> Question:
        """A new open question."""
        question, _ = lifecycle.ask(self.room, self.key, parse_ask(ASK))
        return question

    def revision(self) -> int:
        return Room.objects.values_list("revision", flat=True).get(pk=self.room.pk)

    def replay(self, since: int) -> None:
        """What a page that was cut off is sent; also how a feed reads what is new."""
        _, sent = events.frames_after(self.room.pk, since, ["en"])
        assert sent
        assert all(frame.event != "reset" for frame in sent)

    def _page(self, address: str) -> None:
        reply = self.browser.get(address)
        assert reply.status_code == 200, reply.content

    def _list(self, model: str) -> None:
        assert self._admin.get(f"/admin/ask_bridge/{model}/").status_code == 200

    def _send(self, method: str, path: str, body: Any = None) -> None:
        reply = self._agent.generic(
            method,
            path,
            "" if body is None else json.dumps(body),
            content_type="application/json",
            headers={"Authorization": f"Bearer {self._text}"},
        )
        assert reply.status_code in (200, 201), reply.content

    def _answer(self, asked: Question) -> None:
        path = f"/rooms/{self.room.slug}/questions/{asked.pk}/answer"
        reply = self.browser.post(path, {"choice-0": "0"}, headers={"HX-Request": "true"})
        assert reply.status_code == 200, reply.content

    def _ask_after(self, read: Callable[[], Any]) -> None:
        read()
        self.ask()

    def _settle_one(self) -> None:
        self._answer(self.ask())

    def _last_id(self) -> str:
        newest = self.room.questions.order_by("-position")[1:2]
        return newest[0].pk

    def _read_messages(self, after: str) -> None:
        self._send("GET", f"/api/v1/rooms/{self.room.slug}/messages?after={after}")

    def _make_due(self) -> None:
        """One question past its deadline, and one whose agent vanished."""
        late, left = self.ask(), self.ask()
        lifecycle.wait_started(left.pk)
        past = timezone.now() - timedelta(seconds=1)
        Question.objects.filter(pk=late.pk).update(expires_at=past)
        Question.objects.filter(pk=left.pk).update(waiting_until=past)

    def _look_again(self) -> None:
        hub.settled_among(self.open_ids)
        hub.revisions_of(self.room_ids)
