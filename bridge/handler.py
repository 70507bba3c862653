"""Django's ordinary request handling, one hop to a lasting thread for each request.

Django's own ASGI handler makes a thread for every request and hops into it for every signal and middleware.
The site has nothing asynchronous behind the sleepers of `rooms.live`, so it runs views and middleware as
they were written: synchronously, in a few threads that keep their database connections.
"""

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from io import BytesIO
from typing import Any, cast

from django.core import signals
from django.core.handlers.asgi import ASGIRequest, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.urls import ResolverMatch, set_script_prefix

from bridge.passwords import REFUSED, PasswordLane, hashes_password
from rooms.db.pool import ThreadPool
from rooms.live.exchange import Receive, Send
from rooms.live.routing import match_of

# A request takes milliseconds, and more threads would only wait for each other; the rest queues here.
THREADS = 8


class PooledHandler(BaseHandler):
    """An ASGI application of Django's synchronous middleware and views."""

    def __init__(self) -> None:
        super().__init__()
        self.load_middleware(is_async=False)
        self._threads = ThreadPool(THREADS, "site")
        self._passwords = PasswordLane()

    def resolve_request(self, request: HttpRequest) -> ResolverMatch:
        """Nothing on this site gives a request other URLs: what was found for it on its way in holds."""
        request.resolver_match = match_of(request)
        return request.resolver_match or super().resolve_request(request)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        body = await _read_body(receive)
        if body is None:
            return  # the client left before it had said everything
        loop = asyncio.get_running_loop()

        def send_from_thread(message: dict[str, Any]) -> None:
            asyncio.run_coroutine_threadsafe(send(message), loop).result()

        run = self._threads.run
        if hashes_password(scope):
            if self._passwords.is_full:
                scope[REFUSED] = True  # a middleware replies for the view
            else:
                run = self._passwords.run
        # With the context of this request: its log lines name its id, and its language ends with it.
        messages = await run(copy_context().run, self._respond, scope, body, send_from_thread)
        for message in messages:
            await send(message)

    def _respond(
        self, scope: dict[str, Any], body: bytes, send_from_thread: Callable[[dict[str, Any]], None]
    ) -> list[dict[str, Any]]:
        """The messages of the response; a streaming one sends all but its last from here."""
        set_script_prefix(get_script_prefix(scope))
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
            # Also sends request_finished: the thread's database connection is looked after.
            response.close()
            # A request and its user hold each other. Apart they go at once; together they would wait for the
            # collector, and some day everybody for it.
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


def _headers(response: HttpResponseBase) -> list[tuple[bytes, bytes]]:
    named = [(name.encode("ascii"), value.encode("latin1")) for name, value in response.items()]
    cookies = [
        (b"Set-Cookie", cookie.output(header="").encode("ascii").strip())
        for cookie in response.cookies.values()
    ]
    return named + cookies
