"""What waits: long-polls of agents, streams of pages, JSON events. Outside Django's request handling.

Inside it every open request would hold a thread and its first query a database connection. Here a sleeper
holds its socket and nothing else: it checks access in one short hop to a database thread, sleeps in the hub,
and hops again when there is news. Always in this order: join the hub, then read the database, then sleep.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from channels.layers import get_channel_layer
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import Http404
from django.urls import Resolver404, resolve

from rooms import access, api, cards, lifecycle, problems, timeline, wire
from rooms.database import in_database
from rooms.hub import Sleeper, Viewer, hub
from rooms.models import Question, Room

logger = logging.getLogger(__name__)

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

JSON = "application/json"
# Proxies and browsers give up on a silent stream after 30 to 60 seconds.
COMMENT_SECONDS = 15
# EventSource comes back after this many milliseconds; our page's script does the same with jitter.
RETRY_MILLISECONDS = 1000
READY_SECONDS = 3

STREAM_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    # nginx would hold the events back until its buffer is full.
    "X-Accel-Buffering": "no",
}


@dataclass
class Exchange:
    """One request and the way to answer it."""

    request: ASGIRequest
    scope: Scope
    receive: Receive
    send: Send
    application: Application
    has_started: bool = False

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
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        await self.send({"type": "http.response.start", "status": status, "headers": encoded})

    async def respond_problem(self, error: Exception) -> None:
        problem = api.problem_for(error, self.request)
        if self.has_started:
            await self.finish()
            return
        await self.respond(problem.status, problem.as_bytes(), problems.CONTENT_TYPE, problem.headers)

    async def write(self, chunk: bytes) -> None:
        await self.send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def finish(self) -> None:
        await self.send({"type": "http.response.body", "body": b""})

    def watch(self, sleeper: Sleeper) -> "asyncio.Task[None]":
        """Wake the sleeper when the client hangs up."""

        async def hang_up() -> None:
            while (await self.receive())["type"] != "http.disconnect":
                pass
            sleeper.leave()

        return asyncio.create_task(hang_up())


# ---- agents ----------------------------------------------------------------------------------------------


async def wait_for_answer(exchange: Exchange, question_id: str, status: int = 200) -> None:
    """Reply when the question is settled, or with what it is when the seconds are over."""
    seconds = api.wait_seconds(exchange.request)
    sleeper = Sleeper()
    hub.add_wait(question_id, sleeper)
    watching = None
    try:
        question = await in_database(_start_waiting, exchange.request, question_id)
        watching = exchange.watch(sleeper)
        deadline = asyncio.get_running_loop().time() + seconds
        while question.is_open and not sleeper.is_gone and not hub.is_closing:
            was_woken = await sleeper.sleep(deadline - asyncio.get_running_loop().time())
            question = await in_database(_read_question, question_id)
            if not was_woken:
                break
    finally:
        nobody_else_waits = hub.remove_wait(question_id, sleeper)
        if watching:
            watching.cancel()
    if sleeper.is_gone:
        if nobody_else_waits:
            await in_database(lifecycle.wait_ended, question_id)
    elif question.is_open and hub.is_closing and exchange.request.method == "GET":
        await exchange.respond_problem(problems.shutting_down())
    else:
        body = wire.question_object(question, exchange.request.build_absolute_uri)
        await exchange.respond(status, json.dumps(body).encode(), JSON)
        if not question.is_open:
            await in_database(lifecycle.deliver, question_id)


def _start_waiting(request: ASGIRequest, question_id: str) -> Question:
    key = access.key_from_header(request.headers.get("Authorization", ""))
    question = access.question_of_key(key, question_id)
    if question.is_open:
        lifecycle.wait_started(question_id)
        question = _read_question(question_id)
    return question


def _read_question(question_id: str) -> Question:
    question = Question.objects.with_answer().filter(pk=question_id).first()
    if question is None:
        raise access.Missing  # its room was deleted meanwhile
    return question


async def ask_and_wait(exchange: Exchange, room: str) -> None:
    """Let Django take the question, then wait for its answer in the same request."""
    api.wait_seconds(exchange.request)
    reply: list[dict[str, Any]] = []

    async def keep(message: dict[str, Any]) -> None:
        reply.append(message)

    await exchange.application(exchange.scope, exchange.receive, keep)
    status = reply[0]["status"] if reply else 0
    if status in (200, 201):
        body = b"".join(message.get("body", b"") for message in reply)
        await wait_for_answer(exchange, json.loads(body)["id"], status)
    else:
        for message in reply:
            await exchange.send(message)


async def wait_for_messages(exchange: Exchange, room: str) -> None:
    """Reply when the timeline has something after the cursor, or with nothing when the seconds are over."""
    seconds = api.wait_seconds(exchange.request)
    key = await in_database(_key_of_room, exchange.request, room)
    sleeper = Sleeper()
    hub.add_listener(key.room_id, sleeper)
    watching = exchange.watch(sleeper)
    try:
        page = await in_database(api.messages_page, exchange.request, key, room)
        deadline = asyncio.get_running_loop().time() + seconds
        while not page["messages"] and not sleeper.is_gone and not hub.is_closing:
            was_woken = await sleeper.sleep(deadline - asyncio.get_running_loop().time())
            page = await in_database(api.messages_page, exchange.request, key, room)
            if not was_woken:
                break
    finally:
        hub.remove_listener(key.room_id, sleeper)
        watching.cancel()
    if not sleeper.is_gone:
        await exchange.respond(200, json.dumps(page).encode(), JSON)


async def stream_events(exchange: Exchange, room: str) -> None:
    """The timeline as JSON events, from the cursor on, or from now on."""
    key = await in_database(_key_of_room, exchange.request, room)
    sleeper = Sleeper()
    hub.add_listener(key.room_id, sleeper)
    watching = None
    try:
        position = await in_database(_events_cursor, exchange.request, key.room)
        await _open_stream(exchange)
        watching = exchange.watch(sleeper)
        while not sleeper.is_gone and not hub.is_closing:
            entries = await in_database(timeline.entries_after, key.room, position, api.PAGE_LIMIT)
            for entry in entries:
                data = json.dumps(wire.message_object(entry))
                await exchange.write(cards.encode_event("", data, entry.pk))
                position = entry.position
            if not entries and not await sleeper.sleep(COMMENT_SECONDS):
                # The quiet moment is also the moment to look whether the key still lives.
                await in_database(_key_of_room, exchange.request, room)
                await exchange.write(b": still here\n\n")
    except access.BadKey:
        if watching is None:
            raise
    finally:
        hub.remove_listener(key.room_id, sleeper)
        if watching:
            watching.cancel()
    await exchange.finish()


def _key_of_room(request: ASGIRequest, room: str) -> Any:
    key = access.key_from_header(request.headers.get("Authorization", ""))
    access.room_of_key(key, room)
    return key


def _events_cursor(request: ASGIRequest, room: Room) -> int:
    cursor = request.headers.get("Last-Event-ID") or request.GET.get("after")
    if cursor:
        return timeline.position_of(room, cursor)
    return Room.objects.values_list("revision", flat=True).get(pk=room.pk)


# ---- pages -----------------------------------------------------------------------------------------------


async def stream_room(exchange: Exchange, room: str) -> None:
    """One room's changes for an open page."""
    await _stream_rooms(exchange, room)


async def stream_inbox(exchange: Exchange) -> None:
    """The changes of all rooms that this person may see."""
    await _stream_rooms(exchange, None)


async def _stream_rooms(exchange: Exchange, slug: str | None) -> None:
    session_key = exchange.request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    user_id, rooms = await in_database(_watchable_rooms, session_key, slug)
    viewer = Viewer(user_id, session_key, {room.pk for room in rooms}, many_rooms=slug is None)
    watching = None
    try:
        for room in rooms:
            hub.add_viewer(room.pk, room.revision, viewer)
        await _open_stream(exchange)
        watching = exchange.watch(viewer)
        for room, since in _cursors(exchange.request, rooms, slug):
            if since < 0:
                viewer.catch_up(room.slug, room.revision, [cards.reset_frame(room.slug, room.revision)])
            elif since != room.revision:
                viewer.catch_up(room.slug, *await in_database(cards.frames_after, room.pk, since))
        await exchange.write(viewer.take())
        while not viewer.is_gone and not hub.is_closing:
            was_woken = await viewer.sleep(COMMENT_SECONDS)
            await exchange.write(viewer.take() if was_woken else b": still here\n\n")
    finally:
        hub.remove_viewer(viewer)
        if watching:
            watching.cancel()
    await exchange.finish()


def _watchable_rooms(session_key: str | None, slug: str | None) -> tuple[Any, list[Room]]:
    user = access.user_of_session(session_key)
    if not user.is_authenticated:
        raise access.BadKey
    visible = access.visible_rooms(user)
    if slug is None:
        return user.pk, list(visible)
    return user.pk, [access.room_for(user, slug)]


def _cursors(request: ASGIRequest, rooms: list[Room], slug: str | None) -> list[tuple[Room, int]]:
    """Where each room's replay begins; -1 where the page named a cursor that means nothing to us.

    A room's stream has plain revisions, the inbox has `room:revision` pairs. Its last event id names one room
    only; the others replay from where the page began, which is more than needed and harmless.
    """
    since = request.GET.get("since", "")
    last_event_id = request.headers.get("Last-Event-ID", "")
    if slug is not None:
        pairs = [f"{slug}:{cursor}" for cursor in (since, last_event_id) if cursor]
    else:
        pairs = [*since.split(","), last_event_id]
    named = dict(pair.split(":", 1) for pair in pairs if ":" in pair)
    return [(room, _revision(named[room.slug])) for room in rooms if room.slug in named]


def _revision(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1


async def _open_stream(exchange: Exchange) -> None:
    await exchange.start(200, STREAM_HEADERS)
    # Daphne sends the headers with the first body chunk, so there is one at once.
    await exchange.write(f"retry: {RETRY_MILLISECONDS}\n: welcome\n\n".encode())


# ---- health ----------------------------------------------------------------------------------------------


async def healthz(exchange: Exchange) -> None:
    """The process is up. Like readiness, asked for by probes that know no host name of ours."""
    await exchange.respond(200, json.dumps({"status": "ok"}).encode(), JSON)


async def readyz(exchange: Exchange) -> None:
    """Database and channel layer reachable."""
    states = {
        "database": await in_database(api.database_state),
        "channel_layer": await _layer_state(),
    }
    is_ready = all(state == "ok" for state in states.values())
    await exchange.respond(200 if is_ready else 503, json.dumps(states).encode(), JSON)


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


# ---- in front of Django ----------------------------------------------------------------------------------

LiveView = Callable[..., Awaitable[None]]

# By the names of `urls.py`: (method, name) -> what takes the call, and whether only with `?wait=`.
LIVE_VIEWS: dict[tuple[str, str], tuple[LiveView, bool]] = {
    ("GET", "api-question"): (wait_for_answer, True),
    ("POST", "api-questions"): (ask_and_wait, True),
    ("GET", "api-messages"): (wait_for_messages, True),
    ("GET", "api-events"): (stream_events, False),
    ("GET", "room-stream"): (stream_room, False),
    ("GET", "inbox-stream"): (stream_inbox, False),
    ("GET", "healthz"): (healthz, False),
    ("GET", "readyz"): (readyz, False),
}


def with_live(application: Application) -> Application:
    """The portal's ASGI application with our sleepers in front, at whatever prefix it includes our URLs."""

    async def live_application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "http" and (found := _find(scope)):
            await hub.start()
            view, path = found
            exchange = Exchange(ASGIRequest(scope, BytesIO()), scope, receive, send, application)
            await _run(view, exchange, path)
        else:
            if scope["type"] == "http":
                await hub.start()
            await application(scope, receive, send)

    return live_application


async def _run(view: LiveView, exchange: Exchange, path: dict[str, str]) -> None:
    if hub.is_closing:
        await exchange.respond_problem(problems.shutting_down())
        return
    try:
        await view(exchange, **path)
    except Http404:
        await exchange.respond_problem(problems.not_found())
    except Exception as error:
        await exchange.respond_problem(error)


def _find(scope: Scope) -> tuple[LiveView, dict[str, str]] | None:
    root = scope.get("root_path", "")
    try:
        match = resolve(scope["path"].removeprefix(root) or "/")
    except Resolver404:
        return None
    if "ask_bridge" not in match.app_names:
        return None
    view, only_with_wait = LIVE_VIEWS.get((scope["method"], match.url_name or ""), (None, False))
    if view is None or (only_with_wait and b"wait=" not in scope["query_string"]):
        return None
    return view, match.kwargs


async def start_live() -> None:
    """Begin to listen and sweep before the first request comes."""
    await hub.start()


async def stop_live() -> None:
    """Tell every waiter and stream to come back later, and wait until they know."""
    await hub.close()


async def _lifespan(receive: Receive, send: Send) -> None:
    with suppress(asyncio.CancelledError):
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await start_live()
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await stop_live()
                await send({"type": "lifespan.shutdown.complete"})
                return
