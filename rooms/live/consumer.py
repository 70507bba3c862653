"""Base of the consumers: a request that the host admits, and that stays open without a thread.

Channels' `AsyncHttpConsumer` does not fit: it ends when its handler returns, and does not notice before that
a client has disconnected. Here `http_request` only opens the connection and returns. The hub wakes it when
there may be news, and `http_disconnect` ends it.
"""

import asyncio
import logging
import math
from io import BytesIO
from typing import Any

from channels.consumer import AsyncConsumer, get_handler_name
from channels.exceptions import StopConsumer
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.utils.http import http_date

from rooms.access.admission import SCOPE_KEY, Admission
from rooms.api.endpoint import problem_for
from rooms.conf import setting
from rooms.contract import problems
from rooms.contract.problems import CONTENT_TYPE, Problem
from rooms.contract.replies import encode_json
from rooms.live.hub import hub

logger = logging.getLogger(__name__)

JSON = "application/json"
# Proxies and browsers close a connection after 30 to 60 seconds without data.
COMMENT_SECONDS = 15
RETRY_MILLISECONDS = 1000  # EventSource reconnects after this; the script of our pages adds jitter
KEEP_ALIVE = b": keep-alive\n\n"
# A host that takes longer to admit a stream again counts as one that refuses it: others wait behind.
READMISSION_SECONDS = 10

STREAM_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    # Without it nginx buffers events.
    "X-Accel-Buffering": "no",
}


class LiveConsumer(AsyncConsumer):
    """One open request. There are thousands, so each holds little: defaults are in the class.

    `open` or `look` runs at most once at a time. A `wake` meanwhile is noted, and `look` runs again.
    """

    body = b""
    has_started = False
    is_finished = False
    # When `on_due` is called, by the clock of the event loop.
    due = math.inf
    # When the host is asked again whether this connection may stay open.
    readmit_at = math.inf
    # The id of the agent's key; None for people.
    key_id: int | None = None
    is_revoked = False
    is_ending = False
    _task: asyncio.Task[Any] | None = None
    _looking: asyncio.Task[Any] | None = None
    _is_aborted = False
    _is_busy = False
    _has_news = False

    def __init__(self, application: Any) -> None:
        self.application = application

    # ---- for subclasses to implement

    async def open(self) -> None:
        """Ask the host, register with the hub, read the database, in this order; reply or stay open."""
        raise NotImplementedError

    async def look(self) -> None:
        """Look for news after `wake`, and reply or stay open."""

    def on_due(self) -> None:
        """The time `due` has come."""
        self.wake()

    def unregister(self) -> None:
        """Leave the hub: the reply is complete, or the client has disconnected."""

    def on_client_left(self) -> None:
        """The client of a registered connection disconnected; called after `unregister`."""

    async def check_admission(self) -> None:
        """The time `readmit_at` has come: end the connection if the host no longer admits it."""

    # ---- the life of a connection

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Like that of Channels, without its task for each of two sources of messages, a fifth of the memory,
        and its thread that closes old database connections: here are no channel and no database.
        """
        self.scope, self.base_send = scope, send
        self._task = asyncio.current_task()
        try:
            while True:
                message = await receive()
                await getattr(self, get_handler_name(message))(message)
        except StopConsumer:
            pass
        except asyncio.CancelledError:
            if not self._is_aborted:
                raise
        finally:
            # Also if the server cancels the request.
            self._end(has_client_left=True)

    async def http_request(self, message: Any) -> None:
        if self.is_finished:
            return  # the rest of a body that was refused
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        self.body += message.get("body", b"")
        self._is_busy = True
        hub.opening += 1
        try:
            if limit is not None and len(self.body) > limit:
                raise problems.too_large(limit)
            if message.get("more_body"):
                return
            if hub.is_closing:
                raise problems.shutting_down()
            await self.open()
        except Exception as error:
            await self._fail(error)
        finally:
            self._is_busy = False
            hub.opening -= 1
        # The process may have begun to stop before this connection was in the hub.
        if self._has_news or hub.is_closing:
            self.wake()

    async def http_disconnect(self, message: Any) -> None:
        """The client has disconnected, or the reply is complete."""
        raise StopConsumer

    def wake(self) -> None:
        """There may be news, or the process stops; called in the event loop."""
        self._has_news = True
        if not self._is_busy and not self.is_finished:
            self._is_busy = True
            self._looking = hub.run(self._look())

    def abort(self) -> None:
        """End the request without a complete reply: its client does not read."""
        self._is_aborted = True
        for task in filter(None, (self._looking, self._task)):
            task.cancel()

    def end(self) -> None:
        """End a stream; its client reconnects."""
        self.is_ending = True
        self.wake()

    async def _look(self) -> None:
        try:
            while self._has_news and not self.is_finished:
                self._has_news = False
                await self.look()
        except Exception as error:
            await self._fail(error)
        finally:
            self._is_busy, self._looking = False, None

    async def _fail(self, error: Exception) -> None:
        """Reply with the problem; a stream that has begun just ends, and its client reconnects."""
        if isinstance(error, StopConsumer):
            self._end(has_client_left=True)
            return
        problem = problem_for(error, self.request)  # also logs what is our fault
        if not self.is_finished:
            try:
                await self.respond_problem(problem)
            except StopConsumer:
                self._end(has_client_left=True)

    def _end(self, *, has_client_left: bool) -> None:
        if self.is_finished:
            return
        self.is_finished = True
        if self in hub.connections:
            self.unregister()
            if has_client_left and not hub.is_closing:
                self.on_client_left()

    # ---- admission

    async def ask_host(self) -> Any:
        """What the view at this address grants; None if the host refused, whose reply was passed on."""
        granted, reply = await self._send_through_host(self.scope, self.body)
        self.body = b""
        if granted is None:
            for message in reply:
                await self.send(message)
            self._end(has_client_left=False)
            return None
        return granted

    async def ask_host_again(self) -> Any:
        """What the view grants now; None if the host refuses or fails."""
        try:
            async with asyncio.timeout(READMISSION_SECONDS):
                granted, _ = await self._send_through_host({**self.scope, "method": "GET"}, b"")
        except Exception:
            logger.exception("The host failed to admit %s again", self.scope["path"])
            return None
        return granted

    async def _send_through_host(self, scope: Any, body: bytes) -> tuple[Any, list[Any]]:
        admission = Admission()
        requests = [{"type": "http.request", "body": body, "more_body": False}]
        reply: list[Any] = []

        async def receive() -> Any:
            # Django also listens for a disconnect until it has replied.
            return requests.pop() if requests else await asyncio.get_running_loop().create_future()

        async def keep(message: Any) -> None:
            reply.append(message)

        # In a task of its own: what the host sets in the context would stay as long as the connection.
        await asyncio.create_task(self.application({**scope, SCOPE_KEY: admission}, receive, keep))
        start = reply[0] if reply else {}
        return admission.granted_by(start.get("status", 0), start.get("headers", ())), reply

    @property
    def request(self) -> ASGIRequest:
        """The request without its body, for error messages."""
        return ASGIRequest(self.scope, BytesIO())

    # ---- replies

    async def send(self, message: Any) -> None:
        """Send to the client; some servers raise an error of their own when it has disconnected."""
        hub.sending.add(self)
        try:
            await self.base_send(message)
        except Exception as error:
            logger.debug("The server did not take a message", exc_info=True)
            raise StopConsumer from error
        finally:
            hub.sending.discard(self)

    async def start(self, status: int, headers: dict[str, str]) -> None:
        self.has_started = True
        # Daphne sends no date, and agents compare clocks. Browsers must not guess the content type.
        dated = {"Date": http_date(), "X-Content-Type-Options": "nosniff", **headers}
        encoded = [(name.lower().encode(), value.encode()) for name, value in dated.items()]
        await self.send({"type": "http.response.start", "status": status, "headers": encoded})

    async def write(self, chunk: bytes) -> None:
        await self.send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def finish(self, body: bytes = b"") -> None:
        """Send the last part of the reply. The connection leaves the hub first: clients may be quick."""
        self._end(has_client_left=False)
        await self.send({"type": "http.response.body", "body": body})

    async def respond(
        self, status: int, body: bytes, content_type: str, headers: dict[str, str] | None = None
    ) -> None:
        own = {"Content-Type": content_type, "Content-Length": str(len(body)), "Cache-Control": "no-store"}
        await self.start(status, own | (headers or {}))
        await self.finish(body)

    async def respond_json(self, body: Any, status: int = 200) -> None:
        encoded = encode_json(body)
        if self.has_started:
            # After a keep-alive the status has been sent; the body follows.
            await self.finish(encoded)
        else:
            await self.respond(status, encoded, JSON)

    async def respond_problem(self, problem: Problem) -> None:
        if self.has_started:
            await self.finish()
        else:
            await self.respond(problem.status, problem.as_bytes(), CONTENT_TYPE, problem.headers)

    async def open_stream(self, cursor: str = "") -> None:
        """Begin a stream; with a cursor its client can reconnect even if no event was sent."""
        now = asyncio.get_running_loop().time()
        self.due, self.readmit_at = now + COMMENT_SECONDS, now + setting("READMIT_SECONDS")
        await self.start(200, STREAM_HEADERS)
        # Daphne sends the headers with the first body chunk, so there is one at once.
        last_id = f"id: {cursor}\n" if cursor else ""
        await self.write(f": welcome\nretry: {RETRY_MILLISECONDS}\n{last_id}\n".encode())
