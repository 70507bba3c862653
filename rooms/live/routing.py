"""What waits, in front of Django: long-polls of agents, streams of pages, probes.

Inside Django's handler every open request would hold a thread and its first query a database connection.
Here a sleeper holds its socket and nothing else: it checks access in one short hop to a database thread,
sleeps in the hub, and hops again when there is news.
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

# A database or a channel layer that takes longer to reply is no help to anybody who waits.
READY_SECONDS = 3


async def healthz(exchange: Exchange) -> None:
    """The process is up. Like readiness, asked for by probes that know no host name of ours."""
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

# By the names of `urls.py`: (method, name) -> what takes the call, and whether only with `?wait=`.
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


# Where a scope keeps what was found for its path, so that nobody has to look again.
MATCH = "ask_bridge.match"

# Asked for by machines that come past the proxy, without its https.
PROBES = (healthz, readyz)

# Longer than any of ours; nobody fills the memory with the others.
LONGEST_KEPT_PATH = 200

# Whether anything in this process was given our sleepers, for the system check.
is_in_place = False


def with_live(application: Application) -> Application:
    """The portal's ASGI application with our sleepers in front, at whatever prefix it includes our URLs."""
    global is_in_place
    is_in_place = True

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
            # Django's own middleware knows where to send who comes without https.
            await exchange.application(exchange.scope, exchange.receive, exchange.send)
        else:
            if view not in PROBES:
                exchange.request.get_host()  # one that is not ours is refused
            if prefix := get_script_prefix(exchange.scope):
                set_script_prefix(prefix)  # the addresses in what is said begin with it
            await view(exchange, *path)
    except Http404:
        await exchange.respond_problem(problems.not_found())
    except Exception as error:
        await exchange.respond_problem(problem_for(error, exchange.request))


def _find(scope: Scope) -> tuple[Any, ...] | None:
    """Who takes this call here, and the variable parts of its path."""
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
        # Only here: it is larger than all else that a sleeper holds.
        scope[MATCH] = match
        return None
    # Only the values: a sleeper keeps them for as long as it sleeps.
    return view, *(match.kwargs[name] for name in ("room", "question_id") if name in match.kwargs)


# The same few paths come again and again: of rooms that agents ask in, and of pages that people open.
_resolve_once = lru_cache(maxsize=1024)(resolve)


def match_of(request: HttpRequest) -> ResolverMatch | None:
    """The view of ours that was found for this request, if it came through here."""
    scope: Scope = getattr(request, "scope", {})
    return scope.get(MATCH)


async def start_live() -> None:
    """Begin to listen and sweep before the first request comes."""
    await hub.start()


async def stop_live() -> None:
    """Tell every waiter and stream to come back later, and wait until they know."""
    await hub.close()


async def _lifespan(application: Application, scope: Scope, receive: Receive, send: Send) -> None:
    """Begin and end with the server; what the portal's own application does then, it still does."""
    heard: list[str] = []
    said: list[str] = []

    async def receive_after_us() -> Any:
        message = await receive()
        heard.append(message["type"])
        await (start_live() if message["type"] == "lifespan.startup" else stop_live())
        return message

    async def send_and_note(message: Any) -> None:
        said.append(message["type"])
        await send(message)

    try:
        await application(scope, receive_after_us, send_and_note)
    except Exception:
        if said:
            raise
        # It knows no lifespan, as Django's own: then we speak.
        if not heard:
            await receive_after_us()
        await send({"type": "lifespan.startup.complete"})
        await receive_after_us()
        await send({"type": "lifespan.shutdown.complete"})
