"""Routing of requests that stay open: long-polls of agents, streams of pages, and probes.

Inside Django's handler every open request would hold a thread, and its first query a database connection.
Here it holds only its socket: access is checked in one short job of the database pool, then the connection
waits in the hub until there is a change.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any

from channels.layers import get_channel_layer
from django.conf import settings
from django.core.handlers.asgi import get_script_prefix
from django.http import Http404, HttpRequest
from django.urls import Resolver404, ResolverMatch, resolve, set_script_prefix

from rooms.api.endpoint import problem_for
from rooms.contract import problems
from rooms.db import readiness
from rooms.db.pool import in_database
from rooms.live import claude_code, streams, waits
from rooms.live.exchange import Application, Exchange, Receive, Scope, Send
from rooms.live.hub import hub

logger = logging.getLogger(__name__)

# A database or channel layer that takes longer counts as unreachable.
READY_SECONDS = 3


async def healthz(exchange: Exchange) -> None:
    """The process is up. Probes call this and `readyz` without a valid host name."""
    await exchange.respond_json({"status": "ok"})


async def readyz(exchange: Exchange) -> None:
    """Database and channel layer reachable, and the database takes writes."""
    database, layer = await asyncio.gather(_database_state(), _layer_state())
    states = {"database": database, "channel_layer": layer}
    is_ready = all(state == "ok" for state in states.values())
    await exchange.respond_json(states, 200 if is_ready else 503)


async def _database_state() -> str:
    try:
        async with asyncio.timeout(READY_SECONDS):
            return await in_database(readiness.database_state)
    except TimeoutError:
        logger.error("The database does not reply")
        return "unreachable"


async def _layer_state() -> str:
    layer = get_channel_layer()
    try:
        async with asyncio.timeout(READY_SECONDS):
            if layer is not None:
                await layer.group_send("ask_bridge.ready", {"type": "ready"})
    except Exception:
        logger.exception("The channel layer is out of reach")
        return "unreachable"
    return "ok"


LiveView = Callable[..., Awaitable[None]]

# By method and name in `urls.py`: the view, and whether it takes only requests with `?wait=`.
LIVE_VIEWS: dict[tuple[str, str], tuple[LiveView, bool]] = {
    ("GET", "api-question"): (waits.wait_for_answer, True),
    ("POST", "api-questions"): (waits.ask_and_wait, True),
    ("GET", "api-messages"): (waits.wait_for_messages, True),
    ("GET", "api-events"): (waits.stream_events, False),
    ("POST", "api-claude-code"): (claude_code.claude_code, False),
    ("GET", "room-stream"): (streams.stream_rooms, False),
    ("GET", "inbox-stream"): (streams.stream_rooms, False),
    ("POST", "inbox-stream"): (streams.stream_rooms, False),
    ("GET", "healthz"): (healthz, False),
    ("GET", "readyz"): (readyz, False),
}


# The key of the scope under which the URL match is stored, so that Django need not resolve it again.
MATCH = "ask_bridge.match"

# Called by monitoring directly, not through the proxy and its https.
PROBES = (healthz, readyz)

# Longer than any of our paths; foreign long paths must not fill the cache.
LONGEST_KEPT_PATH = 200

# Whether `with_live` was called in this process, for the system check.
is_installed = False


def with_live(application: Application) -> Application:
    """The portal's ASGI application, with live requests handled before it, at any prefix of our URLs."""
    global is_installed
    is_installed = True

    async def live_application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(application, scope, receive, send)
        elif scope["type"] == "http" and (found := _find(scope)):
            await hub.start()
            await _run(Exchange(scope, receive, send, application), *found)
        else:
            if scope["type"] == "http":
                await hub.start()
            await application(scope, receive, send)

    return live_application


async def _run(exchange: Exchange, view: LiveView, *path: str) -> None:
    if hub.is_closing:
        await exchange.respond_problem(problems.shutting_down())
        return
    try:
        if view not in PROBES and settings.SECURE_SSL_REDIRECT and not exchange.request.is_secure():
            # Django's middleware redirects to https.
            await exchange.application(exchange.scope, exchange.receive, exchange.send)
        else:
            if view not in PROBES:
                exchange.request.get_host()  # refuses a host that is not in ALLOWED_HOSTS
            if prefix := get_script_prefix(exchange.scope):
                set_script_prefix(prefix)  # for the addresses in the reply
            await view(exchange, *path)
    except Http404:
        await exchange.respond_problem(problems.not_found())
    except Exception as error:
        await exchange.respond_problem(problem_for(error, exchange.request))


def _find(scope: Scope) -> tuple[Any, ...] | None:
    """The live view of this request and the variable parts of its path; None if Django takes it."""
    try:
        path = scope["path"].removeprefix(get_script_prefix(scope))
        look_up = _resolve_once if len(path) <= LONGEST_KEPT_PATH else resolve
        match = look_up(path, settings.ROOT_URLCONF)
    except Resolver404:
        return None
    if "ask_bridge" not in match.app_names:
        return None
    view, only_with_wait = LIVE_VIEWS.get((scope["method"], match.url_name or ""), (None, False))
    waits_for_something = any(part.startswith(b"wait=") for part in scope["query_string"].split(b"&"))
    if view is None or (only_with_wait and not waits_for_something):
        # Not for live views: it is larger than all else that a connection holds.
        scope[MATCH] = match
        return None
    # Only the values: a connection keeps them as long as it is open.
    return view, *(match.kwargs[name] for name in ("room", "question_id") if name in match.kwargs)


# A site has few different paths of rooms and pages.
_resolve_once = lru_cache(maxsize=1024)(resolve)


def match_of(request: HttpRequest) -> ResolverMatch | None:
    """The URL match that `with_live` found for this request, if any."""
    scope: Scope = getattr(request, "scope", {})
    return scope.get(MATCH)


async def start_live() -> None:
    """Start the hub before the first request."""
    await hub.start()


async def stop_live() -> None:
    """End every wait and stream with a reply that asks the client to reconnect later."""
    await hub.close()


async def _lifespan(application: Application, scope: Scope, receive: Receive, send: Send) -> None:
    """Start and stop the hub with the server, around the portal's own lifespan handling."""
    received: list[str] = []
    sent: list[str] = []

    async def receive_and_act() -> Any:
        message = await receive()
        received.append(message["type"])
        await (start_live() if message["type"] == "lifespan.startup" else stop_live())
        return message

    async def send_and_record(message: Any) -> None:
        sent.append(message["type"])
        await send(message)

    try:
        await application(scope, receive_and_act, send_and_record)
    except Exception:
        if sent:
            raise
        # An application without lifespan support, such as Django's: answer for it.
        if not received:
            await receive_and_act()
        await send({"type": "lifespan.startup.complete"})
        await receive_and_act()
        await send({"type": "lifespan.shutdown.complete"})
