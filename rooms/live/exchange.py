"""One HTTP request outside Django's handler, with methods to respond to it."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from io import BytesIO
from sys import intern
from typing import Any

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.utils.http import http_date

from rooms.contract import problems
from rooms.contract.problems import CONTENT_TYPE, Problem
from rooms.live.connections import Connection

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Coroutine[Any, Any, None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

logger = logging.getLogger(__name__)

JSON = "application/json"
# Proxies and browsers close a stream after 30 to 60 seconds without data.
COMMENT_SECONDS = 15
# EventSource reconnects after this many milliseconds; the script of our pages adds jitter.
RETRY_MILLISECONDS = 1000

STREAM_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    # Without it nginx buffers events.
    "X-Accel-Buffering": "no",
}


@dataclass(slots=True)
class Exchange:
    """One request, with methods to respond to it."""

    scope: Scope
    receive: Receive
    send: Send
    application: Application
    has_started: bool = False
    body: bytes = b""
    _request: ASGIRequest | None = None
    _origin: str = ""
    _can_write_now: bool = True

    @property
    def request(self) -> ASGIRequest:
        if self._request is None:
            self._request = ASGIRequest(self.scope, BytesIO(self.body))
        return self._request

    def release_request(self) -> None:
        """Before a long wait: release the request, which can be rebuilt, and its body."""
        # Kept, because rebuilding the request for it would delay the reply; interned, so all share the text.
        self._origin = intern(self.absolute("/").removesuffix("/"))
        self._request = None
        self.body = b""

    def absolute(self, path: str) -> str:
        """The absolute URL of a path, with the host that the client used."""
        return f"{self._origin}{path}" if self._origin else self.request.build_absolute_uri(path)

    async def respond(
        self, status: int, body: bytes, content_type: str, headers: dict[str, str] | None = None
    ) -> None:
        await self.start(
            status,
            {
                "Content-Type": content_type,
                "Content-Length": str(len(body)),
                "Cache-Control": "no-store",
                **(headers or {}),
            },
        )
        await self.send({"type": "http.response.body", "body": body})

    async def start(self, status: int, headers: dict[str, str]) -> None:
        self.has_started = True
        # Daphne sends no date, and agents compare clocks. Browsers must not guess the content type.
        dated = {"Date": http_date(), "X-Content-Type-Options": "nosniff", **headers}
        encoded = [(name.encode(), value.encode()) for name, value in dated.items()]
        await self.send({"type": "http.response.start", "status": status, "headers": encoded})

    async def respond_json(self, body: Any, status: int = 200) -> None:
        encoded = json.dumps(body).encode()
        if self.has_started:
            # After a keep-alive the status has been sent; the body follows.
            await self.send({"type": "http.response.body", "body": encoded})
        else:
            await self.respond(status, encoded, JSON)

    async def respond_problem(self, problem: Problem) -> None:
        if self.has_started:
            # A stream that failed: its client reconnects from the last cursor.
            await self.finish()
        else:
            await self.respond(problem.status, problem.as_bytes(), CONTENT_TYPE, problem.headers)

    async def open_stream(self, cursor: str = "") -> None:
        """Begin a stream; with a cursor its client can reconnect even if no event was sent."""
        await self.start(200, STREAM_HEADERS)
        # Daphne sends the headers with the first body chunk, so there is one at once.
        last_id = f"id: {cursor}\n" if cursor else ""
        await self.write(f": welcome\nretry: {RETRY_MILLISECONDS}\n{last_id}\n".encode())

    async def read_body(self) -> None:
        """Read the whole body into the request; refuse one over the limit without storing it."""
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        # The standalone server passes on only the length of a body over the limit.
        declared = int(self.request.META.get("CONTENT_LENGTH") or 0)
        self.release_request()
        while True:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                break
            self.body += message.get("body", b"")
            if limit is not None and max(declared, len(self.body)) > limit:
                raise problems.too_large(limit)
            if not message.get("more_body", False):
                break

    async def keep_alive(self) -> None:
        """Send a space before the JSON, so that proxies keep the connection open."""
        if not self.has_started:
            await self.start(200, {"Content-Type": JSON, "Cache-Control": "no-store"})
        await self.write(b" ")

    async def write(self, chunk: bytes) -> None:
        await self.send({"type": "http.response.body", "body": chunk, "more_body": True})

    def write_now(self, chunk: bytes) -> bool:
        """Write without waiting; False if the server did not take the chunk at once.

        A change goes to thousands of streams, and waking the task of each would be a third of the work.
        """
        if not self._can_write_now:
            return False
        sending = self.send({"type": "http.response.body", "body": chunk, "more_body": True})
        try:
            sending.send(None)
        except StopIteration:
            return True
        except Exception:  # the stream gets the same error on its next write and ends
            logger.debug("A server did not take a chunk", exc_info=True)
        # A server that waits has not taken the chunk yet: the stream's own task, which can wait, sends it.
        # If it had taken the chunk, the page gets the same state twice, which is harmless.
        sending.close()
        self._can_write_now = False
        return False

    async def finish(self) -> None:
        await self.send({"type": "http.response.body", "body": b""})

    def watch_disconnect(self, connection: Connection) -> "asyncio.Task[None]":
        """Wake the connection when the client disconnects."""
        return asyncio.create_task(self._wait_for_disconnect(connection))

    async def _wait_for_disconnect(self, connection: Connection) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass
        connection.disconnect()
