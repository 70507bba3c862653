"""HTTP connections of the load generator, with as little Python as possible between socket and clock."""

import asyncio
import json
import re
from time import perf_counter
from typing import Any

HOST = "127.0.0.1"
# A reply that takes longer counts as lost.
PATIENCE_SECONDS = 30
# Servers close idle connections after five seconds or more; a request at that moment would fail.
IDLE_SECONDS = 2

_CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Failed(Exception):
    """A target did not do what it has to do before anything can be measured."""


class Call(asyncio.Protocol):
    """A keep-alive connection: one request after the other, each with its whole reply."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._received = bytearray()
        self._length = 0
        self._reply: asyncio.Future[tuple[int, bytes]] | None = None
        self._transport: asyncio.Transport | None = None
        self._used_at = 0.0

    async def connect(self) -> None:
        """Connect, or reconnect before the server closes an idle connection."""
        if self._transport and perf_counter() - self._used_at > IDLE_SECONDS:
            self._transport.abort()
        if self._transport is None or self._transport.is_closing():
            await asyncio.get_running_loop().create_connection(lambda: self, HOST, self._port)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._used_at = perf_counter()

    def send(self, request: bytes) -> "asyncio.Future[tuple[int, bytes]]":
        """Status and body of the reply."""
        assert self._transport
        self._reply = asyncio.get_running_loop().create_future()
        self._received.clear()
        self._length = 0
        self._used_at = perf_counter()
        self._transport.write(request)
        return self._reply

    async def request(self, request: bytes, *expected: int) -> bytes:
        """The body of a reply that has one of these statuses."""
        await self.connect()
        async with asyncio.timeout(PATIENCE_SECONDS):
            status, body = await self.send(request)
        if status not in expected:
            raise Failed(f"{request[:80]!r} was answered with {status}: {body[:400]!r}")
        return body

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._length:
            self._length = _length(self._received)
        if self._length and len(self._received) >= self._length and self._reply and not self._reply.done():
            head, _, body = bytes(self._received).partition(b"\r\n\r\n")
            self._reply.set_result((int(head[9:12]), body))

    def connection_lost(self, error: Exception | None) -> None:
        if self._reply and not self._reply.done():
            self._reply.set_exception(Failed("the server closed the connection"))

    def close(self) -> None:
        if self._transport:
            self._transport.abort()


class AgentConnection(Call):
    """Waits for the answer to one question, by repeated long-polls."""

    def __init__(self, port: int, request: bytes) -> None:
        super().__init__(port)
        self._request = request
        self.answered_at: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.send(self._request)

    def data_received(self, data: bytes) -> None:
        now = perf_counter()
        super().data_received(data)
        if self._reply and self._reply.done():
            status, body = self._reply.result()
            question: Any = json.loads(body) if status == 200 else {}
            if question.get("status") == "open":
                self.send(self._request)
            elif question.get("status") == "answered" and question["answer"]:
                self.answered_at.set_result(now)
            else:
                self.answered_at.set_exception(Failed(f"a wait ended with {status}: {body[:200]!r}"))

    def connection_lost(self, error: Exception | None) -> None:
        if not self.answered_at.done():
            self.answered_at.set_exception(Failed("the server closed the connection of an agent that waits"))

    def close(self) -> None:
        self.answered_at.cancel()
        super().close()


class ListenerConnection(AgentConnection):
    """Waits for the answer as an event on a stream of its own."""

    def data_received(self, data: bytes) -> None:
        now = perf_counter()
        self._received += data
        found = self._received.find(b'"status": "answered"')
        if found >= 0 and self._received.find(b"\n\n", found) >= 0 and not self.answered_at.done():
            self.answered_at.set_result(now)


def _length(received: bytearray) -> int:
    """Of the whole reply, once its head is here."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return 0
    stated = _CONTENT_LENGTH.search(received, 0, end)
    return end + 4 + (int(stated.group(1)) if stated else 0)


def request(method: str, path: str, headers: dict[str, str], body: str = "") -> bytes:
    """As it goes over the wire."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {HOST}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if method == "POST":
        lines.append(f"Content-Length: {len(body.encode())}")
    return ("\r\n".join(lines) + f"\r\n\r\n{body}").encode()
