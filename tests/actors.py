"""The people and agents of the tests: they speak HTTP to a real site and know nothing of its inside."""

import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from http.client import HTTPConnection, HTTPResponse
from threading import Thread
from typing import Any, TypeVar
from urllib.parse import urlencode

from tests.processes import Reply, Site

Result = TypeVar("Result")

# How long anything may take that is not timed by the test itself; a pass needs a fraction of it.
PATIENCE_SECONDS = 10


def eventually(look: Callable[[], Result], seconds: float = PATIENCE_SECONDS) -> Result:
    """What `look` returns as soon as that is something."""
    begun = time.monotonic()
    while not (found := look()):
        waited = time.monotonic() - begun
        assert waited < seconds, f"still {found!r} after {seconds} seconds"
        # Whoever has waited for long looks less often: each look costs the site that others are tested on.
        time.sleep(min(max(0.02, waited / 20), 0.5))
    return found


class Wait:
    """A request that runs in the background until it is answered or hung up."""

    def __init__(self, connection: HTTPConnection) -> None:
        self._connection = connection
        self._reply: Reply | None = None
        self.has_begun = False
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            response = self._connection.getresponse()
            self.has_begun = True
            self._reply = Reply(response.status, response.headers, response.read().decode())
        except (OSError, ValueError, AttributeError):
            pass  # hung up, or the server went away: there is no reply then

    def reply(self, timeout: float = PATIENCE_SECONDS) -> Reply:
        self._thread.join(timeout)
        assert self._reply is not None, f"no reply within {timeout} seconds"
        return self._reply

    def result(self, timeout: float = PATIENCE_SECONDS) -> Any:
        return self.reply(timeout).json()

    def hang_up(self) -> None:
        """What the kernel does for a process that is killed."""
        if self._connection.sock:
            self._connection.sock.shutdown(socket.SHUT_RDWR)
            self._connection.close()


@dataclass
class Event:
    event: str = ""
    id: str = ""
    data: str = ""


class EventStream:
    """Server-sent events, read one by one."""

    def __init__(self, response: HTTPResponse, sock: socket.socket) -> None:
        assert response.status == 200, response.read()
        self._response = response
        self._socket = sock
        # The greeting comes after the subscription: from here on nothing is missed.
        response.readline()

    def set_timeout(self, seconds: float) -> None:
        """Fail a read that takes longer."""
        self._socket.settimeout(seconds)

    def read(self) -> Event | None:
        """The next event, or None at the end."""
        event, lines = Event(), []
        while line := self._response.readline().decode():
            name, _, value = line.rstrip("\n").partition(": ")
            if name == "data":
                lines.append(value)
            elif name in ("event", "id"):
                setattr(event, name, value)
            elif not name and (event.event or lines):
                event.data = "\n".join(lines)
                return event
        return None

    def next(self) -> Event:
        event = self.read()
        assert event is not None, "the stream ended"
        return event

    def until(self, name: str) -> Event:
        while (event := self.next()).event != name:
            pass
        return event

    def wait_for_end(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self.read() is not None:
            assert time.monotonic() < deadline, f"still open after {seconds} seconds"
        assert time.monotonic() < deadline


class MessageStream(EventStream):
    def next(self) -> Any:  # type: ignore[override] # the messages themselves
        return json.loads(super().next().data)


@contextmanager
def opened(site: Site, path: str, headers: dict[str, str]) -> Iterator[tuple[HTTPResponse, socket.socket]]:
    connection = site.connect()
    connection.timeout = 40  # longer than anything that a test waits for on a stream
    connection.request("GET", path, headers=headers)
    sock = connection.sock
    try:
        yield connection.getresponse(), sock
    finally:
        connection.close()


@dataclass
class Agent:
    """A program with a key."""

    site: Site
    room: str
    key: str
    # Where a portal has put the bridge.
    prefix: str = ""

    @property
    def path(self) -> str:
        return f"{self.prefix}/api/v1/rooms/{self.room}"

    def headers(self, key: str | None = None) -> dict[str, str]:
        key = self.key if key is None else key
        return {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})

    def call(self, method: str, path: str, body: Any = None, key: str | None = None) -> Reply:
        data = None if body is None else json.dumps(body)
        return self.site.request(method, path, body=data, headers=self.headers(key))

    def question(self, **fields: Any) -> dict[str, Any]:
        prompt = {
            "question": "Which database?",
            "header": "Database",
            "options": [{"label": "PostgreSQL", "description": "Grows with you"}, {"label": "SQLite"}],
        }
        return {
            "agent": {"name": "test-agent", "color": "#818cf8"},
            "questions": [prompt],
            **fields,
        }

    def ask(self, **fields: Any) -> Any:
        reply = self.call("POST", f"{self.path}/questions", self.question(**fields))
        assert reply.status == 201, reply.text
        return reply.json()

    def wait(self, question_id: str, seconds: float) -> Any:
        return self.call("GET", f"{self.prefix}/api/v1/questions/{question_id}?wait={seconds}").json()

    def read(self, question_id: str) -> Any:
        return self.call("GET", f"{self.prefix}/api/v1/questions/{question_id}").json()

    def open_questions(self) -> list[Any]:
        return self.questions("open")

    def questions(self, status: str) -> list[Any]:
        return self.call("GET", f"{self.path}/questions?status={status}").json()["questions"]

    def send(self, content: str, **fields: Any) -> Any:
        body = {"sender": "test-agent", "content": content, **fields}
        return self.call("POST", f"{self.path}/messages", body).json()

    @contextmanager
    def background(self, method: str, path: str, body: Any = None) -> Iterator[Wait]:
        connection = self.site.connect()
        connection.request(
            method, path, body=None if body is None else json.dumps(body), headers=self.headers()
        )
        wait = Wait(connection)
        try:
            yield wait
        finally:
            wait.hang_up()

    def waiting(self, question_id: str, seconds: float = 50) -> Any:
        return self.background("GET", f"{self.prefix}/api/v1/questions/{question_id}?wait={seconds}")

    def asking(self, wait: float, **fields: Any) -> Any:
        return self.background("POST", f"{self.path}/questions?wait={wait}", self.question(**fields))

    @contextmanager
    def events(self, last_event_id: str = "") -> Iterator[MessageStream]:
        headers = self.headers() | ({"Last-Event-ID": last_event_id} if last_event_id else {})
        with opened(self.site, f"{self.path}/events", headers) as (response, sock):
            yield MessageStream(response, sock)


class Visitor:
    """A browser without JavaScript that is not signed in."""

    login_address = "/login/"

    def __init__(self, site: Site) -> None:
        self.site = site
        self.cookies: dict[str, str] = {}

    def get(self, path: str, **headers: str) -> Reply:
        return self._keep(self.site.request("GET", path, headers=self._headers(headers)))

    def post(self, path: str, fields: dict[str, Any], **headers: str) -> Reply:
        if "csrftoken" not in self.cookies:
            self.get(self.login_address)
        fields = {"csrfmiddlewaretoken": self.cookies["csrftoken"], **fields}
        headers |= {"Content-Type": "application/x-www-form-urlencoded"}
        return self._keep(
            self.site.request(
                "POST", path, body=urlencode(fields, doseq=True), headers=self._headers(headers)
            )
        )

    def _headers(self, headers: dict[str, str]) -> dict[str, str]:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return {"Cookie": cookies} | {name.replace("_", "-"): value for name, value in headers.items()}

    def _keep(self, reply: Reply) -> Reply:
        for cookie in reply.headers.get_all("Set-Cookie") or []:
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return reply


class Person(Visitor):
    """Somebody who is signed in."""

    # Where a portal has put the bridge.
    prefix = ""

    def __init__(self, site: Site, username: str, password: str, name: str = "") -> None:
        super().__init__(site)
        self.username, self.password, self.name = username, password, name or username
        reply = self.post(self.login_address, {"username": username, "password": password})
        assert reply.status == 302, f"{username} could not sign in"

    def sign_out(self) -> None:
        assert self.post("/logout/", {}).status == 302

    def form_of(self, question: Any) -> dict[str, Any]:
        """The card's form as the page has it: where it goes and what each field is called."""
        html = self.get(f"{self.prefix}/rooms/{question['room']}/questions/{question['id']}").text
        action = re.search(r'<form class="card-form[^>]* action="([^"]+)"', html)
        assert action, "the page has no form to answer with"
        labels = re.findall(
            r'name="(choice-\d+)" value="(\w+)"[^>]*>\s*<span[^>]*>\s*<span class="option-label">([^<]*)',
            html,
        )
        return {
            "action": action.group(1),
            "fields": {unescape(label).strip(): (name, value) for name, value, label in labels},
        }

    def answer(self, question: Any, label: str) -> Reply:
        form = self.form_of(question)
        name, value = form["fields"][label]
        reply = self.post(form["action"], {name: value})
        assert reply.status == 303, reply.status
        return reply

    def skip(self, question: Any, reason: str = "") -> None:
        path = f"{self.prefix}/rooms/{question['room']}/questions/{question['id']}/skip"
        assert self.post(path, {"reason": reason}).status == 303

    def ask_back(self, question: Any, text: str) -> None:
        path = f"{self.prefix}/rooms/{question['room']}/questions/{question['id']}/reply"
        assert self.post(path, {"reply": text}).status == 303

    def say(self, content: str, room: str = "") -> None:
        reply = self.post(f"{self.prefix}/rooms/{room or self.room}/messages", {"content": content})
        assert reply.status == 302

    # The room in which `say` speaks unless told otherwise.
    room = ""

    def page_cursor(self, room: str) -> str:
        found = re.search(
            rf"/stream\?[^\"]*since=(?:[^\"]*,)?{room}:(\d+)", self.get(f"{self.prefix}/rooms/{room}").text
        )
        assert found
        return found.group(1)

    @contextmanager
    def stream(
        self, room: str | None, since: int | str | None = None, last_event_id: str = ""
    ) -> Iterator[EventStream]:
        path = f"{self.prefix}/rooms/{room}/stream" if room else f"{self.prefix}/stream"
        path += "" if since is None else f"?since={since}"
        headers = self._headers({"Last_Event_ID": last_event_id} if last_event_id else {})
        with opened(self.site, path, headers) as (response, sock):
            yield EventStream(response, sock)
