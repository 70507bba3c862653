"""HTTP requests of agents and pages to each kind of target: the same actions, in its own API."""

import json
import re
from dataclasses import dataclass
from html import unescape
from typing import ClassVar
from urllib.parse import urlencode

from bench.anchors.card import CARD
from bench.connections import AgentConnection, ListenerConnection, request

QUESTION = json.dumps(
    {
        "agent": {"name": "bench-agent", "color": "#818cf8"},
        "questions": [
            {
                "question": "Which database should we use?",
                "header": "Database",
                "options": [
                    {"label": "PostgreSQL (Recommended)", "description": "Grows with you"},
                    {"label": "SQLite", "description": "Nothing to install"},
                ],
            }
        ],
        "context": {"text": "All tests pass on my machine.", "branch": "main"},
    }
)


@dataclass(frozen=True)
class Key:
    """An agent's, for one room."""

    room: str
    text: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.text}"}


@dataclass(frozen=True)
class Login:
    """A person's, as their browser keeps it."""

    cookies: dict[str, str]

    @property
    def headers(self) -> dict[str, str]:
        return {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}


class AskBridge:
    """Ask Bridge, and targets with the same API."""

    # How a page knows that it missed nothing from here on.
    welcome: ClassVar[bytes] = b": welcome"
    asked: ClassVar[bytes] = b"event: question\n"
    takes_questions: ClassVar[bool] = True
    agent: ClassVar[type[AgentConnection]] = AgentConnection

    def ask(self, key: Key) -> bytes:
        headers = key.headers | {"Content-Type": "application/json"}
        return request("POST", f"/api/v1/rooms/{key.room}/questions", headers, QUESTION)

    def wait(self, key: Key, question_id: str) -> bytes:
        return request("GET", f"/api/v1/questions/{question_id}?wait=55", key.headers)

    def page(self, login: Login, room: str) -> bytes | None:
        """What a browser loads before it watches; None where it has nothing to learn there."""
        return request("GET", f"/rooms/{room}", login.headers)

    def watch(self, login: Login, room: str, page: bytes) -> bytes:
        """As the page's script does: for all rooms, from where the page was made."""
        found = re.search(r'"(/stream\?[^"]+)"', page.decode())
        assert found, "the page does not say where its stream is"
        address, _, since = unescape(found.group(1)).partition("&since=")
        headers = login.headers | {"Content-Type": "application/x-www-form-urlencoded"}
        return request("POST", address, headers, urlencode({"since": since}))

    def click(self, login: Login, room: str, question_id: str) -> bytes:
        headers = login.headers | {"Content-Type": "application/x-www-form-urlencoded"}
        form = {"csrfmiddlewaretoken": login.cookies["csrftoken"], "choice-0": "0"}
        return request("POST", f"/rooms/{room}/questions/{question_id}/answer", headers, urlencode(form))

    def clicked(self, question_id: str) -> bytes:
        return f"event: card-{question_id}\n".encode()


class EventStream(AskBridge):
    """A channel for each question and one for each room."""

    welcome = b"event: stream-open\n"
    agent = ListenerConnection

    def wait(self, key: Key, question_id: str) -> bytes:
        return request("GET", f"/api/v1/questions/{question_id}/events", key.headers)

    def page(self, login: Login, room: str) -> bytes | None:
        return None

    def watch(self, login: Login, room: str, page: bytes) -> bytes:
        return request("GET", f"/rooms/{room}/events", login.headers)


class RawHub(AskBridge):
    """The API of Ask Bridge without pages."""

    def page(self, login: Login, room: str) -> bytes | None:
        return None

    def watch(self, login: Login, room: str, page: bytes) -> bytes:
        return request("POST", "/stream", login.headers)


class Nchan(EventStream):
    """Publishes to a channel, and knows nothing of questions, people or keys."""

    welcome = b": hi"
    takes_questions = False

    def watch(self, login: Login, room: str, page: bytes) -> bytes:
        return request("GET", f"/rooms/{room}/events", {"Accept": "text/event-stream"})

    def click(self, login: Login, room: str, question_id: str) -> bytes:
        headers = {"X-EventSource-Event": f"card-{question_id}", "Content-Type": "text/html"}
        return request("POST", f"/rooms/{room}/publish", headers, CARD)
