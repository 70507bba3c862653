"""The hub of a process: the registry of open connections, and the hints that wake them.

Hints come from this process directly and from other processes through the channel layer. A hint says only
that a room has a new revision; a connection that is woken reads the database. Hints may be lost, so the hub
also polls the database, with one query for all its waits and one for all its rooms.
"""

import asyncio
import logging
import secrets
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection
from time import sleep
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import InMemoryChannelLayer, get_channel_layer

from rooms import access, lifecycle
from rooms.conf import setting
from rooms.contract import problems
from rooms.db.pool import in_database
from rooms.db.transactions import in_batches
from rooms.history import earlier_answers, writer
from rooms.live import events
from rooms.live.connections import AnswerWait, Connection, Viewer
from rooms.models import AgentKey, Question, Room
from rooms.notifications import outbox, planner
from rooms.notifications.delivery import DeliveryWorker
from rooms.people import presence

logger = logging.getLogger(__name__)

GROUP = "ask_bridge.hints"

# The longest delay after a lost hint; pages have to be up to date again within 5 seconds.
LOOK_AGAIN_SECONDS = 2
# A question expires at most a second or two after its deadline.
SWEEP_SECONDS = 1
# Decisions reach the history, and new cards their similar answers, within about a second.
READ_SECONDS = 1
# A third of the lease, so that one missed renewal does not mark an agent as gone.
RENEW_SECONDS = lifecycle.LEASE_SECONDS / 3
# Streams and waits that lost their access end within 30 seconds.
RECHECK_ACCESS_SECONDS = 10
# Polling the database is quicker than a channel layer that takes longer than this.
ANNOUNCE_SECONDS = 2
# Well within the lease of people's presence.
PRESENCE_SECONDS = 5
# Push, mail and webhooks may be a few seconds late.
NOTICES_SECONDS = 2
FORGET_NOTICES_SECONDS = 3600
# About the time that the loop needs to answer an agent.
YIELD_SECONDS = 0.0002
# At shutdown every connection has this long to answer its client.
CLOSE_SECONDS = 3


class Feed:
    """The changes of one room: rendered once, pushed to every viewer of this process."""

    def __init__(self, room_id: int, revision: int) -> None:
        self.room_id = room_id
        self.revision = revision
        self.viewers: set[Viewer] = set()
        self._languages: Counter[str] = Counter()
        self._people: list[str] = []
        self._new_viewers: set[Viewer] = set()
        self._changed = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    def add(self, viewer: Viewer) -> None:
        self.viewers.add(viewer)
        self._languages[viewer.language] += 1
        self._new_viewers.add(viewer)

    def remove(self, viewer: Viewer) -> None:
        if viewer in self.viewers:
            self.viewers.remove(viewer)
            self._languages -= Counter([viewer.language])
        self._new_viewers.discard(viewer)

    def wake(self) -> None:
        self._changed.set()

    def stop(self) -> None:
        self._task.cancel()

    def push(self, frames: list[events.AnyFrame]) -> None:
        chunks: dict[Any, bytes] = {}
        for viewer in tuple(self.viewers):
            kind = viewer.kind
            if kind not in chunks:
                chunks[kind] = events.encode_frames(frames, *kind, viewer.standing)
            viewer.push(frames, chunks[kind])

    def push_presence(self, slug: str, people: list[str]) -> None:
        """Push who is present: to all viewers if that changed, else to new ones."""
        receivers = self.viewers if people != self._people else self._new_viewers
        frame = events.presence_frame(slug, people)
        for viewer in tuple(receivers):
            # A stream of one room is for programs; only pages show presence.
            if viewer.many_rooms:
                viewer.push([frame])
        self._people = people
        self._new_viewers.clear()

    async def _run(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                revision, frames = await in_database(
                    events.frames_after, self.room_id, self.revision, list(self._languages)
                )
                self.push(frames)
                self.revision = revision
            except Exception:
                logger.exception("Could not push the changes of room %s; trying again soon", self.room_id)


class Hub:
    def __init__(self) -> None:
        self.origin = secrets.token_hex(8)
        self.is_closing = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: list[asyncio.Task[None]] = []
        # Tuples, because most have one element: thousands of sets would be larger than the connections.
        self._waits: dict[str, tuple[AnswerWait, ...]] = {}
        self._listeners: dict[int, set[Connection]] = defaultdict(set)
        # The number of listeners per key; they count as waiting for the open questions of the key.
        self._listening_keys: Counter[int] = Counter()
        self._seen_revisions: dict[int, int] = {}
        self._feeds: dict[int, Feed] = {}
        self._streams: Counter[Any] = Counter()
        self._announcing: set[asyncio.Task[None]] = set()
        self._layer_is_down = False
        self._delivery_worker = DeliveryWorker()

    # ---- start and stop

    async def start(self) -> None:
        """Start the subscription and the periodic jobs; a second call does nothing."""
        loop = asyncio.get_running_loop()
        if self._loop is loop or self.is_closing:
            return
        self._loop = loop
        self._tasks = [
            asyncio.create_task(self._listen()),
            asyncio.create_task(self._every(SWEEP_SECONDS, self._sweep)),
            asyncio.create_task(self._every(LOOK_AGAIN_SECONDS, self._look_again)),
            asyncio.create_task(self._every(READ_SECONDS, self._write_history)),
            asyncio.create_task(self._every(READ_SECONDS, self._recall)),
            asyncio.create_task(self._every(RENEW_SECONDS, self._renew_leases)),
            asyncio.create_task(self._every(RECHECK_ACCESS_SECONDS, self._recheck_access)),
            asyncio.create_task(self._every(PRESENCE_SECONDS, self._update_presence)),
            asyncio.create_task(self._every(NOTICES_SECONDS, self._write_notices)),
            asyncio.create_task(self._every(NOTICES_SECONDS, self._send_notices)),
            asyncio.create_task(self._every(FORGET_NOTICES_SECONDS, self._forget_notices)),
        ]

    async def close(self) -> None:
        """Wake every connection and wait until each has answered its client."""
        self.is_closing = True
        for task in self._tasks:
            task.cancel()
        await self._delivery_worker.stop()
        for _ in range(CLOSE_SECONDS * 100):
            connections = self._connections()
            if not connections:
                break
            for connection in connections:
                connection.wake()
            await asyncio.sleep(0.01)
        self._loop = None

    def _connections(self) -> list[Connection]:
        groups: list[Collection[Any]] = [*self._waits.values(), *self._listeners.values(), self._viewers()]
        return [connection for group in groups for connection in group]

    def _viewers(self) -> set[Viewer]:
        return {viewer for feed in self._feeds.values() for viewer in feed.viewers}

    # ---- registry

    def add_wait(self, question_id: str, connection: AnswerWait) -> None:
        if len(self._waits.get(question_id, ())) >= setting("WAITS_PER_QUESTION"):
            raise problems.too_many("Too many wait for this question already")
        self._waits[question_id] = (*self._waits.get(question_id, ()), connection)

    def remove_wait(self, question_id: str, connection: AnswerWait) -> bool:
        """True if no other connection of this process waits for the question."""
        others = tuple(wait for wait in self._waits.pop(question_id, ()) if wait is not connection)
        if others:
            self._waits[question_id] = others
        return not others and not self.is_listening(connection.key_id)

    def add_listener(self, room_id: int, key_id: int, connection: Connection) -> None:
        """Register a listener, unless its key has too many in this process."""
        if self._listening_keys[key_id] >= setting("LISTENERS_PER_KEY"):
            raise problems.too_many("Too many listen with this key already")
        connection.key_id = key_id
        self._listeners[room_id].add(connection)
        self._listening_keys[key_id] += 1

    def remove_listener(self, room_id: int, key_id: int, connection: Connection) -> None:
        _discard(self._listeners, room_id, connection)
        self._listening_keys[key_id] -= 1
        if not self._listening_keys[key_id]:
            del self._listening_keys[key_id]

    def is_listening(self, key_id: int | None) -> bool:
        """Whether a poll or event stream with this key is open here; called from any thread."""
        return key_id in self._listening_keys

    def is_waited_for(self, question_id: str) -> bool:
        """Whether an agent waits here for this question; called from any thread."""
        return question_id in self._waits

    def admit(self, viewer: Viewer) -> None:
        """Count the stream of a person, unless they have too many in this process."""
        if self._streams[viewer.user_id] >= setting("STREAMS_PER_PERSON"):
            raise problems.too_many("Too many pages are open already")
        self._streams[viewer.user_id] += 1

    async def join(self, viewer: Viewer, rooms: Collection[Room]) -> dict[int, int]:
        """Add the viewer to the feeds of these rooms; returns the revision of each feed."""
        new = [room.pk for room in rooms if room.pk not in self._feeds]
        revisions = {}
        for room in rooms:
            feed = self._feeds.get(room.pk)
            if feed is None:
                feed = self._feeds[room.pk] = Feed(room.pk, room.revision)
            feed.add(viewer)
            revisions[room.pk] = feed.revision
        if new:
            # They may have changed since the caller read them, before there was a feed.
            await self._look_at_rooms(new)
        return revisions

    def remove_viewer(self, viewer: Viewer) -> None:
        self._streams[viewer.user_id] -= 1
        if not self._streams[viewer.user_id]:
            del self._streams[viewer.user_id]
        for room_id in viewer.room_ids:
            feed = self._feeds.get(room_id)
            if feed:
                feed.remove(viewer)
                if not feed.viewers:
                    self._feeds.pop(room_id).stop()

    def counts(self) -> dict[str, int]:
        """The number of connections by kind; called from any thread while others change the registry."""
        return {
            "waits": sum(map(len, list(self._waits.values()))),
            "listeners": sum(map(len, list(self._listeners.values()))),
            "streams": sum(list(self._streams.values())),
        }

    # ---- hints

    def hand_over(self, question: Question, **signal: Any) -> None:
        """Give a result to the waits of this process, before anything is rendered."""
        if self._loop is not None and question.pk in self._waits:
            self._loop.call_soon_threadsafe(self._hand_over, question)

    def yield_to_agents(self, question: Question) -> None:
        """Release the GIL so that the event loop answers the agent before this thread renders."""
        if question.pk in self._waits:
            sleep(YIELD_SECONDS)

    def _hand_over(self, question: Question) -> None:
        for wait in self._waits.get(question.pk, ()):
            wait.hand_over(question)

    def announce(self, room_id: int, question_id: str | None, is_settled: bool, **signal: Any) -> None:
        """A room changed; called from any thread after commit."""
        self._send({"room_id": room_id, "settled": question_id if is_settled else None})

    def announce_answering(self, question: Question, user: lifecycle.Person) -> None:
        """A person has begun to fill in a card. Not stored: pages let it expire."""
        answering = {
            "slug": question.room.slug,
            "question_id": question.pk,
            "user_id": str(user.pk),
            "name": lifecycle.name_of(user),
        }
        self._send({"room_id": question.room_id, "answering": answering})

    def _send(self, hint: dict[str, Any]) -> None:
        reaches_others = _reaches_other_processes(get_channel_layer())
        if self._loop is not None:
            # Do not wake the loop for a room without connections: a new one reads what is committed.
            if reaches_others or hint["room_id"] in self._feeds or hint["room_id"] in self._listeners:
                self._loop.call_soon_threadsafe(self._announce_here, hint)
        elif reaches_others:
            # A command or a WSGI process has no connections, but other processes may.
            async_to_sync(self._announce_to_other_processes)(hint)

    def _announce_here(self, hint: dict[str, Any]) -> None:
        self._receive(hint)
        if _reaches_other_processes(get_channel_layer()):
            task = asyncio.create_task(self._announce_to_other_processes(hint))
            self._announcing.add(task)
            task.add_done_callback(self._announcing.discard)

    async def _announce_to_other_processes(self, hint: dict[str, Any]) -> None:
        try:
            async with asyncio.timeout(ANNOUNCE_SECONDS):
                await get_channel_layer().group_send(
                    GROUP, {"type": "hint", "origin": self.origin, "hint": hint}
                )
            self._log_layer_state(None)
        except Exception as problem:
            self._log_layer_state(problem)

    def _log_layer_state(self, problem: Exception | None) -> None:
        """Log once that the channel layer failed, and once that it is back."""
        if problem and not self._layer_is_down:
            logger.warning("The channel layer is out of reach: processes look again instead (%r)", problem)
        elif self._layer_is_down and not problem:
            logger.warning("The channel layer is back")
        self._layer_is_down = problem is not None

    def _receive(self, hint: dict[str, Any]) -> None:
        feed = self._feeds.get(hint["room_id"])
        if "answering" in hint:
            if feed:
                feed.push([events.answering_frame(**hint["answering"])])
            return
        # Agents before pages: rendering cards takes longer.
        for wait in self._waits.get(hint["settled"], ()):
            wait.wake()
        for connection in self._listeners.get(hint["room_id"], ()):
            connection.wake()
        if feed:
            feed.wake()

    async def _listen(self) -> None:
        layer = get_channel_layer()
        if not _reaches_other_processes(layer):
            return
        while True:
            try:
                channel = await layer.new_channel()
                await layer.group_add(GROUP, channel)
                while True:
                    message = await layer.receive(channel)
                    if message["origin"] != self.origin:
                        self._receive(message["hint"])
            except Exception as problem:
                self._log_layer_state(problem)
                await asyncio.sleep(1)

    # ---- periodic jobs

    async def _every(self, seconds: float, job: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await job()
            except Exception:
                logger.exception("%s failed; again in %g seconds", job.__name__, seconds)

    async def _sweep(self) -> None:
        await in_database(lifecycle.sweep)

    async def _write_history(self) -> None:
        await in_database(writer.catch_up)

    async def _recall(self) -> None:
        await in_database(earlier_answers.catch_up)

    async def _look_again(self) -> None:
        if self._waits:
            for question_id in await in_database(_settled_among, list(self._waits)):
                for wait in self._waits.get(question_id, ()):
                    wait.wake()
        watched = self._feeds.keys() | self._listeners.keys()
        if watched:
            await self._look_at_rooms(list(watched))

    async def _look_at_rooms(self, room_ids: list[int]) -> None:
        for room_id, revision in await in_database(_revisions_of, room_ids):
            feed = self._feeds.get(room_id)
            if feed and feed.revision != revision:
                feed.wake()
            if self._seen_revisions.get(room_id) != revision:
                for connection in self._listeners.get(room_id, ()):
                    connection.wake()
            self._seen_revisions[room_id] = revision

    async def _renew_leases(self) -> None:
        for key_id in list(self._listening_keys):
            await in_database(_renew_leases_of, key_id)
        if self._waits:
            await in_database(lifecycle.renew_leases, list(self._waits))

    async def _update_presence(self) -> None:
        people = {viewer.user_id for viewer in self._viewers() if viewer.many_rooms}
        if people:
            for room, names in await in_database(presence.renew_and_look, people, list(self._feeds)):
                if room.pk in self._feeds:
                    self._feeds[room.pk].push_presence(room.slug, names)

    async def _write_notices(self) -> None:
        await in_database(planner.read)

    async def _send_notices(self) -> None:
        await self._delivery_worker.send_due()

    async def _forget_notices(self) -> None:
        await in_database(outbox.forget_old)

    async def _recheck_access(self) -> None:
        await self._recheck_people()
        await self._recheck_agents()

    async def _recheck_agents(self) -> None:
        by_key = defaultdict(list)
        for connection in self._connections():
            if connection.key_id is not None:
                by_key[connection.key_id].append(connection)
        if by_key:
            alive = await in_database(_usable_among, list(by_key))
            for key_id in by_key.keys() - alive:
                for connection in by_key[key_id]:
                    connection.revoke()

    async def _recheck_people(self) -> None:
        viewers = self._viewers()
        by_session = defaultdict(list)
        for viewer in viewers:
            by_session[viewer.session_key].append(viewer)
        for session_key, group in by_session.items():
            allowed = await in_database(_rooms_of_session, session_key)
            for viewer in group:
                # A stream of all rooms reconnects to get new rooms as well.
                has_changed = viewer.many_rooms and viewer.room_ids != allowed
                if has_changed or not viewer.room_ids <= allowed:
                    viewer.disconnect()


def _discard(connections: dict[Any, set[Any]], name: Any, connection: Connection) -> None:
    connections[name].discard(connection)
    if not connections[name]:
        del connections[name]


def _reaches_other_processes(layer: Any) -> bool:
    return layer is not None and not isinstance(layer, InMemoryChannelLayer)


def _settled_among(question_ids: list[str]) -> list[str]:
    settled = Question.objects.settled().order_by().values_list("pk", flat=True)
    return [pk for batch in in_batches(question_ids) for pk in settled.filter(pk__in=batch)]


def _renew_leases_of(key_id: int) -> None:
    lifecycle.renew_leases(lifecycle.asked_with(key_id))


def _revisions_of(room_ids: list[int]) -> list[tuple[int, int]]:
    rooms = Room.objects.order_by().values_list("pk", "revision")
    return [row for batch in in_batches(room_ids) for row in rooms.filter(pk__in=batch)]


def _usable_among(key_ids: Collection[int]) -> set[int]:
    return set(AgentKey.objects.usable().filter(pk__in=key_ids).values_list("pk", flat=True))


def _rooms_of_session(session_key: str | None) -> set[int]:
    user = access.user_of_session(session_key)
    return set(access.visible_rooms(user).values_list("pk", flat=True))


hub = Hub()
