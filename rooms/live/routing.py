"""Routing of requests that stay open: by URL name to a consumer, before the host's application.

Inside Django's handler every open request would hold a thread, and its first query a database connection. A
consumer holds only its socket.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from django.core.handlers.asgi import get_script_prefix
from django.urls import Resolver404, resolve

from rooms.live.background import background
from rooms.live.claude_code import ClaudeCodeHook
from rooms.live.consumer import LiveConsumer
from rooms.live.probes import Health, Readiness
from rooms.live.shutdown import stop_before_server, stop_with_hypercorn
from rooms.live.streams import PageStream
from rooms.live.waits import AnswerWait, EventStream, MessageWait

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

# By method and name in `urls.py`.
CONSUMERS: dict[tuple[str, str], type[LiveConsumer]] = {
    ("GET", "api-question"): AnswerWait,
    ("POST", "api-questions"): AnswerWait,
    ("GET", "api-messages"): MessageWait,
    ("GET", "api-events"): EventStream,
    ("POST", "api-claude-code"): ClaudeCodeHook,
    ("GET", "room-stream"): PageStream,
    ("GET", "inbox-stream"): PageStream,
    ("POST", "inbox-stream"): PageStream,
    ("GET", "healthz"): Health,
    ("GET", "readyz"): Readiness,
}
# Requests to these addresses stay open only if they ask for it with `?wait=`.
ONLY_WITH_WAIT = {"api-question", "api-questions", "api-messages"}
# How the paths of the others end: no other request of the host needs a URL lookup here.
LAST_PARTS = {"stream", "events", "claude-code", "healthz", "readyz"}

# Whether `with_live` was called in this process, for the system check.
is_installed = False


def with_live(application: Application) -> Application:
    """The portal's ASGI application, with consumers for requests that stay open, at any URL prefix."""
    global is_installed
    is_installed = True
    consumers = {route: consumer.as_asgi(application=application) for route, consumer in CONSUMERS.items()}

    async def live_application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(application, scope, receive, send)
        elif scope["type"] == "http":
            _start()
            stop_with_hypercorn(background.stop)
            await consumers.get(_route(scope), application)(scope, receive, send)
        else:
            await application(scope, receive, send)

    return live_application


def _route(scope: Scope) -> tuple[str, str]:
    """Method and URL name of a request that stays open; empty for all others, most without a URL lookup."""
    waits = any(part.startswith(b"wait=") for part in scope["query_string"].split(b"&"))
    if not waits and scope["path"].rpartition("/")[2] not in LAST_PARTS:
        return "", ""
    try:
        match = resolve(scope["path"].removeprefix(get_script_prefix(scope)))
    except Resolver404:
        return "", ""
    name = match.url_name or ""
    is_ours = "ask_bridge" in match.app_names
    return (scope["method"], name) if is_ours and (waits or name not in ONLY_WITH_WAIT) else ("", "")


async def start_live() -> None:
    """Start the background work before the first request, for a server that calls `stop_live` by itself."""
    background.start()


async def stop_live() -> None:
    """End every wait and stream with a reply that asks the client to reconnect later."""
    await background.stop()


def _start() -> None:
    """Start with the lifespan of the server, or with the first request."""
    if background.start():
        stop_before_server(background.stop)


async def _lifespan(application: Application, scope: Scope, receive: Receive, send: Send) -> None:
    """Start and stop with the server, around the portal's own lifespan handling."""
    has_begun = False

    async def receive_and_act() -> Any:
        nonlocal has_begun
        message = await receive()
        has_begun = True
        if message["type"] == "lifespan.startup":
            _start()
        else:
            await stop_live()
        return message

    try:
        await application(scope, receive_and_act, send)
    except Exception:
        if has_begun:
            raise
        # An application without lifespan support, such as Django's: answer for it.
        for step in ("startup", "shutdown"):
            await receive_and_act()
            await send({"type": f"lifespan.{step}.complete"})
