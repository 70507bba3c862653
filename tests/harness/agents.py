"""Agents: programs that speak JSON with a key, to a running site or to the app inside this process."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from django.test import Client

from tests.harness.http import BackgroundRequest, MessageStream, open_response


class InProcessSite:
    """The app inside this process, over Django's test client: replies are Django's own responses."""

    def __init__(self) -> None:
        self.client = Client()

    def request(
        self, method: str, path: str, body: bytes | str | None = None, headers: dict[str, str] | None = None
    ) -> Any:
        # The type goes as a header: for an empty body the test client would leave it out.
        return self.client.generic(method, path, body or b"", headers=headers)


@dataclass
class Agent:
    """A program with a key; `site` is a `Site`, an `Nginx` or `InProcessSite`; calls return its reply."""

    site: Any
    room: str
    key: str
    # The path below which a portal has mounted the bridge.
    prefix: str = ""
    # The rows of the room and of the key, for tests that share a database with the site.
    room_row: Any = None
    key_row: Any = None

    @classmethod
    def in_process(cls, room: Any, key: Any, text: str) -> Self:
        """An agent of the app inside this process, by the rows of its room and key."""
        return cls(InProcessSite(), room.slug, text, room_row=room, key_row=key)

    # ---- any request

    def headers(self, key: str | None = None) -> dict[str, str]:
        """Those of a request with a JSON body."""
        return {"Content-Type": "application/json"} | self._authorization(key)

    def _authorization(self, key: str | None = None) -> dict[str, str]:
        key = self.key if key is None else key
        return {"Authorization": f"Bearer {key}"} if key else {}

    def call(self, method: str, path: str, body: Any = None, key: str | None = None, **headers: str) -> Any:
        """One request; other keyword arguments are headers, such as `Idempotency_Key`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is None:
            return self.site.request(method, path, headers=self._authorization(key) | named)
        return self.site.request(method, path, body=json.dumps(body), headers=self.headers(key) | named)

    def get(self, path: str, **headers: str) -> Any:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: Any, **headers: str) -> Any:
        return self.call("POST", path, body, **headers)

    def delete(self, path: str) -> Any:
        return self.call("DELETE", path)

    def post_raw(self, path: str, body: bytes, content_type: str = "application/json") -> Any:
        """Post these bytes, valid JSON or not."""
        headers = {"Content-Type": content_type, **self._authorization()}
        return self.site.request("POST", path, body=body, headers=headers)

    # ---- addresses

    @property
    def path(self) -> str:
        return f"{self.prefix}/api/v1/rooms/{self.room}"

    @property
    def questions_url(self) -> str:
        return f"{self.path}/questions"

    @property
    def messages_url(self) -> str:
        return f"{self.path}/messages"

    def question_url(self, question_id: str) -> str:
        return f"{self.prefix}/api/v1/questions/{question_id}"

    def answer_url(self, question_id: str) -> str:
        return f"{self.question_url(question_id)}/answer"

    def wait_url(self, question_id: str) -> str:
        return f"{self.question_url(question_id)}/wait"

    # ---- what agents do

    def question_body(self, **fields: Any) -> dict[str, Any]:
        """A small correct ask; keyword arguments replace or add fields."""
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
        reply = self.post(self.questions_url, self.question_body(**fields))
        assert reply.status_code == 201, reply.text
        return reply.json()

    def wait(self, question_id: str, seconds: float) -> Any:
        return self.get(f"{self.question_url(question_id)}?wait={seconds}").json()

    def read(self, question_id: str) -> Any:
        return self.get(self.question_url(question_id)).json()

    def open_questions(self) -> list[Any]:
        return self.questions("open")

    def questions(self, status: str) -> list[Any]:
        return self.get(f"{self.questions_url}?status={status}").json()["questions"]

    def send(self, content: str, **fields: Any) -> Any:
        """Send a message to the room."""
        return self.post(self.messages_url, {"sender": "test-agent", "content": content, **fields}).json()

    # ---- requests that stay open: on a running site only

    @contextmanager
    def background(self, method: str, path: str, body: Any = None) -> Iterator[BackgroundRequest]:
        """A request that goes on while the block runs, and is hung up after it."""
        connection = self.site.connect()
        connection.request(
            method, path, body=None if body is None else json.dumps(body), headers=self.headers()
        )
        request = BackgroundRequest(connection)
        try:
            yield request
        finally:
            request.hang_up()

    def waiting(self, question_id: str, seconds: float = 50) -> Any:
        return self.background("GET", f"{self.question_url(question_id)}?wait={seconds}")

    def asking(self, wait: float, **fields: Any) -> Any:
        return self.background("POST", f"{self.questions_url}?wait={wait}", self.question_body(**fields))

    @contextmanager
    def events(self, last_event_id: str = "") -> Iterator[MessageStream]:
        headers = self.headers() | ({"Last-Event-ID": last_event_id} if last_event_id else {})
        with open_response(self.site, f"{self.path}/events", headers) as (response, sock):
            yield MessageStream(response, sock)
