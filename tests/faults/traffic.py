"""Ordinary traffic: agents ask and wait, people answer, pages stream, probes call `/healthz` and `/readyz`.

No client stops at a failure; each records its replies and their times.
"""

import json
import random
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from queue import Empty, Queue
from threading import Event
from typing import Any
from urllib.parse import urlencode

from bridge_client import Answered, Client
from tests.faults.stored_questions import answers_by_question, questions
from tests.harness.agents import Agent
from tests.harness.bridges import PEOPLE, Bridge
from tests.harness.http import EventStream, Reply, open_response
from tests.harness.people import Person
from tests.harness.sites import Site
from tests.harness.timing import eventually

OPTIONS = ["PostgreSQL", "SQLite"]
AGENTS_PER_SITE = 4
PAGES_PER_SITE = 3
# The promised maximum for any reply, whatever server is down.
LONGEST_REPLY_SECONDS = 10
# The pause of a client before its next try.
PAUSE_SECONDS = 0.3
# A page reconnects after one to two seconds, as `stream.js` does.
PAGE_RETRY_SECONDS = (1, 2)
# Longer than any outage here.
PATIENCE_SECONDS = 150


@dataclass
class RecordedReply:
    """The reply to one try."""

    what: str
    status: int
    content_type: str
    sent_at: float
    seconds: float
    text: str = ""


@dataclass
class Asked:
    """A confirmed question, and when it was answered and received."""

    id: str
    asked_at: float
    winner: str = ""
    answered_at: float = 0
    received_at: float = 0


@dataclass
class Page:
    """An open page: when it first showed each card, and when it showed it answered."""

    shown_at: dict[str, float] = field(default_factory=dict)
    answered_at: dict[str, float] = field(default_factory=dict)
    cursor: str = "0"
    connected: socket.socket | None = None

    def read(self, stream: EventStream) -> None:
        """Until the stream ends."""
        while event := stream.read():
            assert event.event != "reset"
            card = event.data.partition('id="card-')[2].partition('"')[0]
            if card:
                self.shown_at.setdefault(card, time.monotonic())
                if "Answered by" in event.data:
                    self.answered_at.setdefault(card, time.monotonic())
            self.cursor = event.id or self.cursor


@dataclass
class Traffic:
    bridge: Bridge
    replies: list[RecordedReply] = field(default_factory=list)
    asked: dict[str, Asked] = field(default_factory=dict)
    pages: list[Page] = field(default_factory=list)
    _to_answer: "Queue[Any]" = field(default_factory=Queue)
    _is_over: Event = field(default_factory=Event)
    _is_stopped: Event = field(default_factory=Event)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Traffic while the block runs; afterwards each open question is still answered and received."""
        sites, room = self.bridge.sites, self.bridge.agent()
        self.room = room
        people = [self.bridge.person(name, sites[n % len(sites)]) for n, name in enumerate(PEOPLE)]
        with ThreadPoolExecutor(100) as pool:
            asking = [
                pool.submit(self._ask_and_wait, Agent(site, room.room, room.key), f"{site.port}.{number}")
                for site in sites
                for number in range(AGENTS_PER_SITE)
            ]
            answering = [pool.submit(self._answer, person) for person in people]
            watching = [
                pool.submit(self._watch, self.bridge.person("ana", site))
                for site in sites
                for _ in range(PAGES_PER_SITE)
            ]
            probing = [pool.submit(self._probe, site) for site in sites]
            try:
                yield
                self._is_over.set()
                done, _ = wait(asking, PATIENCE_SECONDS, FIRST_EXCEPTION)
                for agent in done:
                    agent.result()
                eventually(lambda: all(page.answered_at.keys() >= self.asked.keys() for page in self.pages))
            finally:
                self._is_over.set()
                self._is_stopped.set()
                self._close_pages()
            for task in (*answering, *watching, *probing):
                task.result(timeout=30)

    # ---- agents

    def _ask_and_wait(self, agent: Agent, name: str) -> None:
        client = Client(f"http://127.0.0.1:{agent.site.port}", agent.key, agent.room)
        count = 0
        while not self._is_over.is_set():
            key = f"{name}.{count}"
            body = agent.question_body(questions=[{"question": key, "options": OPTIONS}])
            headers = agent.headers() | {"Idempotency-Key": key}
            path = f"{agent.path}/questions"
            reply = self._until_done("ask", agent.site, path, json.dumps(body), headers)
            assert reply.status in (200, 201), reply.text
            question = reply.json()
            self.asked[question["id"]] = Asked(question["id"], time.monotonic())
            self._to_answer.put(question)
            result = client.wait(question["id"], PATIENCE_SECONDS)
            self.asked[question["id"]].received_at = time.monotonic()
            assert isinstance(result, Answered), result
            count += 1

    # ---- people

    def _answer(self, person: Person) -> None:
        chance = random.Random(person.username)
        cookies = "; ".join(f"{name}={value}" for name, value in person.cookies.items())
        headers = {"Cookie": cookies, "Content-Type": "application/x-www-form-urlencoded"}
        while not self._is_stopped.is_set():
            try:
                question = self._to_answer.get(timeout=0.1)
            except Empty:
                continue
            # Keeps the asks below the rate that one key may have.
            time.sleep(chance.choice([0.2, 0.6, 1]))
            fields = {"csrfmiddlewaretoken": person.cookies["csrftoken"], "choice-0": "1"}
            path = f"/rooms/{question['room']}/questions/{question['id']}/answer"
            reply = self._until_done("answer", person.site, path, urlencode(fields), headers)
            # Refused only if an earlier try was stored and its reply was lost.
            assert reply.status in (303, 409), reply.text
            asked = self.asked[question["id"]]
            asked.winner, asked.answered_at = person.username, time.monotonic()

    def _until_done(self, what: str, site: Site, path: str, body: str, headers: dict[str, str]) -> Reply:
        """Send again until the reply is not a failure of the site."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            reply = self._send(what, site, "POST", path, body=body, headers=headers)
            if 0 < reply.status < 500:
                return reply
            time.sleep(PAUSE_SECONDS)
        raise AssertionError(f"{what}: refused for {PATIENCE_SECONDS} seconds")

    def _send(self, what: str, site: Site, method: str, path: str, **options: Any) -> Reply:
        sent_at = time.monotonic()
        reply = request_in_time(site, method, path, **options)
        seconds = time.monotonic() - sent_at
        kind = reply.headers.get("Content-Type", "") if reply.headers else ""
        self.replies.append(RecordedReply(what, reply.status, kind, sent_at, seconds, reply.text[:200]))
        return reply

    # ---- pages

    def _watch(self, person: Person) -> None:
        page = Page()
        self.pages.append(page)
        while not self._is_stopped.is_set():
            headers = {"Cookie": f"sessionid={person.cookies['sessionid']}"}
            path = f"/rooms/{self.room.room}/stream?since={page.cursor}"
            with (
                suppress(OSError, HTTPException),
                open_response(person.site, path, headers) as (response, sock),
            ):
                self.replies.append(RecordedReply("stream", response.status, "", time.monotonic(), 0))
                if response.status == 200:
                    page.connected = sock
                    page.read(EventStream(response, sock))
            self._is_stopped.wait(random.uniform(*PAGE_RETRY_SECONDS))

    def _close_pages(self) -> None:
        for page in self.pages:
            if page.connected:
                with suppress(OSError):
                    page.connected.shutdown(socket.SHUT_RDWR)

    # ---- probes

    def _probe(self, site: Site) -> None:
        while not self._is_stopped.is_set():
            for path in ("/healthz", "/readyz"):
                self._send(path, site, "GET", path)
            self._is_stopped.wait(0.5)

    def probe_readiness(self) -> None:
        """Probe all processes now, in addition to the periodic probes."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda site: self._send("/readyz", site, "GET", "/readyz"), self.bridge.sites))

    # ---- afterwards

    def statuses(self, what: str) -> dict[int, int]:
        return dict(Counter(each.status for each in self.replies if each.what == what))

    def check_nothing_lost(self) -> None:
        """Each confirmed question and answer is stored once, as confirmed."""
        stored = {question["id"]: question for question in questions(self.room)}
        assert stored.keys() == self.asked.keys(), "a question is missing, or was asked twice"
        texts = Counter(question["questions"][0]["question"] for question in stored.values())
        assert set(texts.values()) == {1}
        assert answers_by_question(self.room) == dict.fromkeys(self.asked, 1)
        for asked in self.asked.values():
            assert stored[asked.id]["answer"]["by"]["username"] == asked.winner

    def check_replies(self) -> None:
        """Each reply is a success, or a 503 in the right form, in time: never an error, never a hang."""
        for each in self.replies:
            assert each.status < 500 or each.status == 503, each
            assert each.seconds < LONGEST_REPLY_SECONDS, each
            assert each.status, f"no reply: {each}"
            if each.what == "ask" and each.status == 503:
                assert each.content_type == "application/problem+json", each
            if each.what == "/healthz":
                assert each.status == 200, each

    def lags(self, *, answered_after: float = 0, not_before: float = 0) -> list[float]:
        """Seconds from each ask and answer to its arrival at agents and pages, at most since `not_before`."""
        found = []
        for asked in self.asked.values():
            if asked.answered_at > answered_after:
                found.append(asked.received_at - max(asked.answered_at, not_before))
                for page in self.pages:
                    found.append(page.shown_at[asked.id] - max(asked.asked_at, not_before))
                    found.append(page.answered_at[asked.id] - max(asked.answered_at, not_before))
        return [max(0.0, seconds) for seconds in found]

    def readiness_between(self, start: float, end: float) -> set[str]:
        """The replies of `/readyz` to requests inside this period."""
        return {
            f"{each.status} {each.text.strip()}"
            for each in self.replies
            if each.what == "/readyz" and start < each.sent_at and each.sent_at + each.seconds < end
        }


def request_in_time(site: Site, method: str, path: str, **options: Any) -> Reply:
    """The reply, or one with status 0 if the connection broke or timed out."""
    connection = site.connect()
    connection.timeout = LONGEST_REPLY_SECONDS + 5
    try:
        connection.request(method, path, **options)
        response = connection.getresponse()
        return Reply(response.status, response.headers, response.read().decode())
    except (TimeoutError, OSError, HTTPException):
        return Reply(0, None, "")  # type: ignore[arg-type] # there are none
    finally:
        connection.close()
