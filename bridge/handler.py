"""ASGI handler that runs Django's synchronous views in a thread pool, with one thread switch per request.

Django's ASGI handler creates a thread for each request and switches to it for every signal and middleware.
Long-polls and streams are handled before, in `rooms.live`. All other views and middleware of the site are
synchronous, so they run in a few permanent threads that keep their database connections.
"""

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from io import BytesIO
from typing import Any, cast

from django.core import signals
from django.core.handlers.asgi import ASGIRequest, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.urls import set_script_prefix

from bridge.password_queue import REFUSED, PasswordQueue, hashes_password
from rooms.db.pool import ThreadPool
from rooms.live.routing import Receive, Send

# A request takes milliseconds, and more threads would only compete for the GIL. Further requests queue.
THREADS = 8


class PooledHandler(BaseHandler):
    """ASGI application for Django's synchronous middleware and views."""

    def __init__(self) -> None:
        super().__init__()
        self.load_middleware(is_async=False)
        self._threads = ThreadPool(THREADS, "site")
        self._password_queue = PasswordQueue()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        body = await _read_body(receive)
        if body is None:
            return  # the client disconnected before it had sent the whole body
        loop = asyncio.get_running_loop()

        def send_from_thread(message: dict[str, Any]) -> None:
            asyncio.run_coroutine_threadsafe(_send(send, message), loop).result()

        run = self._threads.run
        if hashes_password(scope):
            if self._password_queue.is_full:
                scope[REFUSED] = True  # GuessLimitMiddleware replies instead of the view
            else:
                run = self._password_queue.run
        set_script_prefix(get_script_prefix(scope))
        # In a copy of the context: log lines have the request's id, and its language ends with the request.
        messages = await run(copy_context().run, self._respond, scope, body, send_from_thread)
        for message in messages:
            await send(message)

    def _respond(
        self, scope: dict[str, Any], body: bytes, send_from_thread: Callable[[dict[str, Any]], None]
    ) -> list[dict[str, Any]]:
        """Return the ASGI messages of the response; a streaming one sends all but the last itself."""
        signals.request_started.send(sender=self.__class__, scope=scope)
        request = ASGIRequest(scope, BytesIO(body))
        response = self.get_response(request)
        try:
            start = {
                "type": "http.response.start",
                "status": response.status_code,
                "headers": _headers(response),
            }
            if isinstance(response, HttpResponse):
                return [start, {"type": "http.response.body", "body": response.content}]
            send_from_thread(start)
            for part in cast(StreamingHttpResponse, response):
                send_from_thread({"type": "http.response.body", "body": part, "more_body": True})
            return [{"type": "http.response.body", "body": b""}]
        finally:
            # Also sends request_finished, on which Django closes unusable database connections.
            response.close()
            # A request and its user refer to each other. Without the cycle they are freed at once and the
            # garbage collector, which pauses all threads, has less to do.
            vars(request).clear()


async def _read_body(receive: Receive) -> bytes | None:
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


async def _send(send: Send, message: dict[str, Any]) -> None:
    """As a coroutine: servers may return any awaitable."""
    await send(message)


def _headers(response: HttpResponseBase) -> list[tuple[bytes, bytes]]:
    named = [(name.encode("ascii"), value.encode("latin1")) for name, value in response.items()]
    cookies = [
        (b"Set-Cookie", cookie.output(header="").encode("ascii").strip())
        for cookie in response.cookies.values()
    ]
    return named + cookies
