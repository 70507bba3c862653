"""One HTTP exchange outside Django's handler: its request, and the ways to answer it."""

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
from rooms.live.connections import Sleeper

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Coroutine[Any, Any, None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

logger = logging.getLogger(__name__)

JSON = "application/json"
# Proxies and browsers give up on a silent stream after 30 to 60 seconds.
COMMENT_SECONDS = 15
# EventSource comes back after this many milliseconds; our page's script does the same with jitter.
RETRY_MILLISECONDS = 1000

STREAM_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    # nginx would hold the events back until its buffer is full.
    "X-Accel-Buffering": "no",
}


@dataclass(slots=True)
class Exchange:
    """One request and the way to answer it."""

    scope: Scope
    receive: Receive
    send: Send
    application: Application
    has_started: bool = False
    body: bytes = b""
    _request: ASGIRequest | None = None
    _origin: str = ""
    _may_write_at_once: bool = True

    @property
    def request(self) -> ASGIRequest:
        if self._request is None:
            self._request = ASGIRequest(self.scope, BytesIO(self.body))
        return self._request

    def rest(self) -> None:
        """Before a long sleep: let go of the request, which can be made anew, and of its body."""
        # Whoever is woken has no time to make a request anew for this; all of one site share the text.
        self._origin = intern(self.absolute("/").removesuffix("/"))
        self._request = None
        self.body = b""

    def absolute(self, path: str) -> str:
        """The whole address of a path of ours, as the client reaches us."""
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
        # Daphne sends no date, and agents compare their clocks; no browser should guess at what we send.
        dated = {"Date": http_date(), "X-Content-Type-Options": "nosniff", **headers}
        encoded = [(name.encode(), value.encode()) for name, value in dated.items()]
        await self.send({"type": "http.response.start", "status": status, "headers": encoded})

    async def respond_json(self, body: Any, status: int = 200) -> None:
        encoded = json.dumps(body).encode()
        if self.has_started:
            # After a keep-alive: the status has been sent, the body follows.
            await self.send({"type": "http.response.body", "body": encoded})
        else:
            await self.respond(status, encoded, JSON)

    async def respond_problem(self, problem: Problem) -> None:
        if self.has_started:
            # A stream that broke: its reader comes back and begins where this one ended.
            await self.finish()
        else:
            await self.respond(problem.status, problem.as_bytes(), CONTENT_TYPE, problem.headers)

    async def open_stream(self, bookmark: str = "") -> None:
        """Begin a stream; with a bookmark its reader can come back even if nothing else was sent."""
        await self.start(200, STREAM_HEADERS)
        # Daphne sends the headers with the first body chunk, so there is one at once.
        cursor = f"id: {bookmark}\n" if bookmark else ""
        await self.write(f": welcome\nretry: {RETRY_MILLISECONDS}\n{cursor}\n".encode())

    async def read_body(self) -> None:
        """Give the request its body, once all of it is here; too large a one is refused and never held."""
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        # Our own server passes on only the length of a body over the limit.
        declared = int(self.request.META.get("CONTENT_LENGTH") or 0)
        self.rest()
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
        """A blank before the JSON that is still to come, so that proxies see a living connection."""
        if not self.has_started:
            await self.start(200, {"Content-Type": JSON, "Cache-Control": "no-store"})
        await self.write(b" ")

    async def write(self, chunk: bytes) -> None:
        await self.send({"type": "http.response.body", "body": chunk, "more_body": True})

    def write_at_once(self, chunk: bytes) -> bool:
        """Whether the server took it without waiting, as servers do while the client reads.

        A change goes to thousands of streams: to wake the task of each would be a third of the work.
        """
        if not self._may_write_at_once:
            return False
        sending = self.send({"type": "http.response.body", "body": chunk, "more_body": True})
        try:
            sending.send(None)
        except StopIteration:
            return True
        except Exception:  # the stream meets it as well, and ends by it
            logger.debug("A server did not take a chunk", exc_info=True)
        # A server that waits does so before it takes the chunk, and this stream goes on as a task that can
        # wait. Should one have taken it nevertheless, the page is told twice what is true.
        sending.close()
        self._may_write_at_once = False
        return False

    async def finish(self) -> None:
        await self.send({"type": "http.response.body", "body": b""})

    def watch(self, sleeper: Sleeper) -> "asyncio.Task[None]":
        """Wake the sleeper when the client hangs up."""
        return asyncio.create_task(self._hang_up(sleeper))

    async def _hang_up(self, sleeper: Sleeper) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass
        sleeper.leave()
