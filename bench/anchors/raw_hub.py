"""The floor: one event loop, HTTP by hand, a dict of waiters, one SQLite commit per ask and click.

It checks sessions, CSRF tokens and keys, keeps what it says across a restart, and does nothing else.
Run as `python -m bench.anchors.raw_hub` with PORT and DATA_DIR, whose `roster.json` names people.
"""

import asyncio
import hashlib
import hmac
import json
import os
import secrets
import sqlite3
from collections import defaultdict
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from bench.anchors.card import CARD

HOST = "127.0.0.1"
BACKLOG_CONNECTIONS = 2048
REASONS = {200: "OK", 201: "Created", 302: "Found", 303: "See Other"}
SCHEMA = """
PRAGMA journal_mode=WAL;
PRAGMA synchronous=FULL;
CREATE TABLE IF NOT EXISTS question (id INTEGER PRIMARY KEY, room TEXT, prompts TEXT, answer TEXT);
CREATE TABLE IF NOT EXISTS session (key TEXT PRIMARY KEY, username TEXT);
"""


class Hub:
    """All state of the process."""

    def __init__(self, folder: Path) -> None:
        roster = json.loads((folder / "roster.json").read_text())
        self.password: str = roster["password"]
        self.people: list[str] = roster["people"]
        self.rooms = {_digest(text): room for room, text in roster["keys"]}
        # The same name as the site's file, so that handles are counted alike.
        self.database = sqlite3.connect(folder / "ask-bridge.sqlite3", isolation_level=None)
        self.database.executescript(SCHEMA)
        self.sessions = dict(self.database.execute("SELECT key, username FROM session"))
        self.waiters: defaultdict[int, set[Exchange]] = defaultdict(set)
        self.viewers: set[Exchange] = set()

    def question(self, question_id: int) -> dict[str, Any]:
        found = self.database.execute(
            "SELECT room, prompts, answer FROM question WHERE id = ?", (question_id,)
        ).fetchone()
        room, prompts, answer = found
        return {
            "id": question_id,
            "room": room,
            "status": "answered" if answer else "open",
            "questions": json.loads(prompts),
            "answer": json.loads(answer) if answer else None,
        }

    def push(self, event: str) -> None:
        """Send the same bytes to all viewers."""
        framed = f"event: {event}\ndata: {CARD}\n\n".encode()
        chunk = b"%x\r\n%b\r\n" % (len(framed), framed)
        for viewer in self.viewers:
            viewer.transport.write(chunk)


class Exchange(asyncio.Protocol):
    """One connection and what is asked on it."""

    transport: asyncio.Transport

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self._received = b""
        self._waits_for: int | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        self.hub.viewers.discard(self)
        self._stop_waiting()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator:
            return
        first, *lines = head.decode("latin1").split("\r\n")
        fields = (line.partition(": ") for line in lines)
        headers = {name.lower(): value for name, _, value in fields}
        if len(body) < int(headers.get("content-length", 0)):
            return
        self._received = b""
        method, target, _ = first.split(" ")
        self._route(method, target.partition("?")[0], headers, body)

    def _route(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        match [method, *path.strip("/").split("/")]:
            case ["POST", "api", "v1", "rooms", room, "questions"]:
                self._ask(room, headers, body)
            case ["GET", "api", "v1", "questions", question_id]:
                self._wait(int(question_id), headers)
            case ["POST", "rooms", room, "questions", question_id, "answer"]:
                self._click(room, int(question_id), headers, body)
            case ["POST", "stream"]:
                self._watch(headers)
            case ["GET", "login"]:
                self._respond(200, b"", f"Set-Cookie: csrftoken={secrets.token_hex(16)}\r\n")
            case ["POST", "login"]:
                self._sign_in(headers, body)
            case _:
                self._respond(404)

    def _ask(self, room: str, headers: dict[str, str], body: bytes) -> None:
        if self._room(headers) != room:
            return self._respond(401)
        prompts = json.dumps(json.loads(body)["questions"])
        done = self.hub.database.execute(
            "INSERT INTO question (room, prompts) VALUES (?, ?)", (room, prompts)
        )
        assert done.lastrowid
        self._respond_json(201, self.hub.question(done.lastrowid))
        self.hub.push("question")

    def _wait(self, question_id: int, headers: dict[str, str]) -> None:
        question = self.hub.question(question_id)
        if self._room(headers) != question["room"]:
            return self._respond(404)
        if question["answer"]:
            return self._respond_json(200, question)
        self._waits_for = question_id
        self.hub.waiters[question_id].add(self)
        self._timer = asyncio.get_running_loop().call_later(55, self.tell, question)

    def tell(self, question: dict[str, Any]) -> None:
        """What the question is now, to the agent that waits here."""
        self._stop_waiting()
        self._respond_json(200, question)

    def _stop_waiting(self) -> None:
        if self._waits_for is not None and self._timer:
            self._timer.cancel()
            self.hub.waiters[self._waits_for].discard(self)
            if not self.hub.waiters[self._waits_for]:
                del self.hub.waiters[self._waits_for]
            self._waits_for = None

    def _click(self, room: str, question_id: int, headers: dict[str, str], body: bytes) -> None:
        form = parse_qs(body.decode())
        cookies = _cookies(headers)
        username = self.hub.sessions.get(cookies.get("sessionid", ""))
        if username is None or not _same_token(form, cookies):
            return self._respond(403)
        chosen = json.dumps({"by": username, "selectedOptions": [form["choice-0"][0]]})
        done = self.hub.database.execute(
            "UPDATE question SET answer = ? WHERE id = ? AND room = ? AND answer IS NULL",
            (chosen, question_id, room),
        )
        if not done.rowcount:
            return self._respond(409)
        question = self.hub.question(question_id)
        for waiter in tuple(self.hub.waiters.get(question_id, ())):
            waiter.tell(question)
        self._respond(303, b"", "Location: /\r\n")
        self.hub.push(f"card-{question_id}")

    def _watch(self, headers: dict[str, str]) -> None:
        if _cookies(headers).get("sessionid") not in self.hub.sessions:
            return self._respond(401)
        self.transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"b\r\n: welcome\n\n\r\n"
        )
        self.hub.viewers.add(self)

    def _sign_in(self, headers: dict[str, str], body: bytes) -> None:
        form = parse_qs(body.decode())
        username = form["username"][0]
        is_known = username in self.hub.people and hmac.compare_digest(form["password"][0], self.hub.password)
        if not is_known or not _same_token(form, _cookies(headers)):
            return self._respond(403)
        key = secrets.token_hex(16)
        self.hub.database.execute("INSERT INTO session VALUES (?, ?)", (key, username))
        self.hub.sessions[key] = username
        self._respond(302, b"", f"Location: /\r\nSet-Cookie: sessionid={key}\r\n")

    def _room(self, headers: dict[str, str]) -> str | None:
        """Of the agent's key."""
        return self.hub.rooms.get(_digest(headers.get("authorization", "").removeprefix("Bearer ")))

    def _respond_json(self, status: int, content: dict[str, Any]) -> None:
        self._respond(status, json.dumps(content).encode(), "Content-Type: application/json\r\n")

    def _respond(self, status: int, body: bytes = b"", headers: str = "") -> None:
        head = f"HTTP/1.1 {status} {REASONS.get(status, '')}\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _cookies(headers: dict[str, str]) -> dict[str, str]:
    return {name: morsel.value for name, morsel in SimpleCookie(headers.get("cookie", "")).items()}


def _same_token(form: dict[str, list[str]], cookies: dict[str, str]) -> bool:
    return hmac.compare_digest(form.get("csrfmiddlewaretoken", [""])[0], cookies.get("csrftoken", "-"))


async def serve() -> None:
    hub = Hub(Path(os.environ["DATA_DIR"]))
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Exchange(hub), HOST, int(os.environ["PORT"]), backlog=BACKLOG_CONNECTIONS
    )
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
