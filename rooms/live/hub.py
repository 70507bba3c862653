"""The hub of a process: the registry of open connections, and the hints that wake them.

Hints come from this process directly and from other processes through the channel layer. A hint says only
that a room has a new revision; a connection that is woken reads the database. Hints may be lost, so
`look_again` also polls the database, with one query for all waits and one for all rooms.
"""

import asyncio
import logging
import secrets
from collections import Counter, defaultdict
from collections.abc import Collection, Coroutine
from typing import TYPE_CHECKING, Any

from asgiref.sync import async_to_sync
from channels.layers import InMemoryChannelLayer, get_channel_layer

from rooms import lifecycle
from rooms.conf import setting
from rooms.contract import problems
from rooms.db import interpreter, outages
from rooms.db.pool import in_database
from rooms.db.transactions import in_batches
from rooms.live import events
from rooms.live.feed import Feed
from rooms.models import Question, Room

if TYPE_CHECKING:
    from rooms.live.consumer import LiveConsumer
    from rooms.live.streams import PageStream
    from rooms.live.waits import AnswerWait

logger = logging.getLogger(__name__)

# The channel layer's group of all hubs.
GROUP = "ask_bridge.hints"

# Polling the database is quicker than a channel layer that takes longer than this.
ANNOUNCE_SECONDS = 2
# At shutdown every connection has this long to answer its client.
CLOSE_SECONDS = 3
# A restart is not delayed by more than this.
CLOSE_POLL_SECONDS = 0.01
# After the channel layer has failed.
LISTEN_AGAIN_SECONDS = 1


class Hub:
    """Registry of open connections, which hints wake. For the event loop, where no other thread is named."""

    def __init__(self) -> None:
        self.origin = secrets.token_hex(8)
        self.is_closing = False
        # None in a process without open connections: under WSGI, or a management command.
        self.loop: asyncio.AbstractEventLoop | None = None
        self.connections: set[LiveConsumer] = set()
        # Those whose server has not taken the last message yet, also after they have left the registry.
        self.sending: set[LiveConsumer] = set()
        # The number of requests that are being admitted: most become connections.
        self.opening = 0
        self.streams: set[PageStream] = set()
        self.feeds: dict[int, Feed] = {}
        # Tuples, because most have one element: thousands of sets would be larger than the connections.
        self._waits: dict[str, tuple[AnswerWait, ...]] = {}
        self._listeners: dict[int, set[LiveConsumer]] = defaultdict(set)
        # The number of listeners per key; they count as waiting for the open questions of the key.
        self._listening_keys: Counter[int] = Counter()
        self._seen_revisions: dict[int, int] = {}
        self._streams_of_people: Counter[Any] = Counter()
        # Held here, because asyncio itself keeps no reference to a running task.
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Run a coroutine that no caller waits for."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.error("A task of an open connection failed", exc_info=error)

    async def close(self) -> None:
        """Wake every connection and wait until it has answered; cut off those that do not read."""
        self.is_closing = True
        clock = asyncio.get_running_loop().time
        deadline = clock() + CLOSE_SECONDS
        while (self.connections or self.opening or self._tasks) and clock() < deadline:
            for connection in tuple(self.connections):
                connection.wake()
            await asyncio.sleep(CLOSE_POLL_SECONDS)
        for connection in tuple(self.sending):
            connection.abort()  # a worker of granian may hang if it stops while a task still writes
        self.loop = None

    # ---- registry

    def add_wait(self, wait: "AnswerWait") -> None:
        others = self._waits.get(wait.question_id, ())
        if len(others) >= setting("WAITS_PER_QUESTION"):
            raise problems.too_many("Too many connections wait for this question")
        self._waits[wait.question_id] = (*others, wait)
        self.connections.add(wait)

    def remove_wait(self, wait: "AnswerWait") -> bool:
        """True if no other connection of this process waits for the question."""
        self.connections.discard(wait)
        others = tuple(other for other in self._waits.pop(wait.question_id, ()) if other is not wait)
        if others:
            self._waits[wait.question_id] = others
        return not others and not self.is_listening(wait.key_id)

    def add_listener(self, room_id: int, key_id: int, connection: "LiveConsumer") -> None:
        """Register a listener, unless its key has too many in this process."""
        if self._listening_keys[key_id] >= setting("LISTENERS_PER_KEY"):
            raise problems.too_many("Too many connections listen with this key")
        self._listeners[room_id].add(connection)
        self._listening_keys[key_id] += 1
        self.connections.add(connection)

    def remove_listener(self, room_id: int, key_id: int, connection: "LiveConsumer") -> None:
        self.connections.discard(connection)
        self._listeners[room_id].discard(connection)
        if not self._listeners[room_id]:
            del self._listeners[room_id]
        _count_down(self._listening_keys, key_id)

    def is_listening(self, key_id: int | None) -> bool:
        """Whether a poll or event stream with this key is open here; called from any thread."""
        return key_id in self._listening_keys

    def is_waited_for(self, question_id: str) -> bool:
        """Whether an agent waits here for this question; called from any thread."""
        return question_id in self._waits

    def waited_for(self) -> list[str]:
        """The questions that agents wait for here."""
        return list(self._waits)

    def listening_keys(self) -> list[int]:
        """The keys with a poll or event stream here."""
        return list(self._listening_keys)

    async def add_stream(self, stream: "PageStream", rooms: Collection[Room]) -> dict[int, int]:
        """Add a page's stream to the feeds of these rooms; returns the revision of each feed."""
        if self._streams_of_people[stream.user_id] >= setting("STREAMS_PER_PERSON"):
            raise problems.too_many("Too many pages are open already")
        self._streams_of_people[stream.user_id] += 1
        self.connections.add(stream)
        self.streams.add(stream)
        new = [room.pk for room in rooms if room.pk not in self.feeds]
        revisions = {}
        for room in rooms:
            feed = self.feeds.get(room.pk)
            if feed is None:
                feed = self.feeds[room.pk] = Feed(room.pk, room.revision)
            feed.add(stream)
            revisions[room.pk] = feed.revision
        if new:
            # They may have changed since the caller read them, before there was a feed.
            await self._look_at_rooms(new)
        return revisions

    def remove_stream(self, stream: "PageStream") -> None:
        self.connections.discard(stream)
        self.streams.discard(stream)
        _count_down(self._streams_of_people, stream.user_id)
        for room_id in stream.room_ids:
            feed = self.feeds.get(room_id)
            if feed:
                feed.remove(stream)
                if not feed.streams:
                    self.feeds.pop(room_id).stop()

    def counts(self) -> dict[str, int]:
        """The number of connections by kind; called from any thread while others change the registry."""
        return {
            "waits": sum(map(len, list(self._waits.values()))),
            "listeners": sum(map(len, list(self._listeners.values()))),
            "streams": len(self.streams),
        }

    # ---- hints

    def hand_over(self, question: Question, **signal: Any) -> None:
        """Give a result to the waits of this process, before anything is rendered."""
        if (loop := self.loop) is not None and question.pk in self._waits:
            loop.call_soon_threadsafe(self._hand_over, question)

    def yield_to_agents(self, question: Question) -> None:
        """Let the event loop send this result before the calling thread renders."""
        if question.pk in self._waits:
            interpreter.yield_to_agents()

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
        if (loop := self.loop) is not None:  # read once: `close` removes it in another thread
            # Do not wake the loop for a room without connections: a new one reads what is committed.
            if reaches_others or hint["room_id"] in self.feeds or hint["room_id"] in self._listeners:
                loop.call_soon_threadsafe(self._announce_here, hint)
        elif reaches_others:
            # A command or a WSGI process has no connections, but other processes may.
            async_to_sync(self._announce_to_other_processes)(hint)

    def _announce_here(self, hint: dict[str, Any]) -> None:
        self.receive(hint)
        if _reaches_other_processes(get_channel_layer()):
            self.run(self._announce_to_other_processes(hint))

    async def _announce_to_other_processes(self, hint: dict[str, Any]) -> None:
        try:
            async with asyncio.timeout(ANNOUNCE_SECONDS):
                await get_channel_layer().group_send(
                    GROUP, {"type": "hint", "origin": self.origin, "hint": hint}
                )
            outages.channel_layer.succeeded()
        except Exception as problem:
            outages.channel_layer.failed(repr(problem))

    def receive(self, hint: dict[str, Any]) -> None:
        """Wake the connections that a hint is about."""
        feed = self.feeds.get(hint["room_id"])
        if "answering" in hint:
            if feed:
                feed.push([events.answering_frame(**hint["answering"])])
            return
        # Agents before pages: rendering cards takes longer.
        for wait in self._waits.get(hint["settled"], ()):
            wait.wake()
        for connection in tuple(self._listeners.get(hint["room_id"], ())):
            connection.wake()
        if feed:
            feed.wake()

    async def listen(self) -> None:
        """Receive the hints of other processes, for as long as this process runs."""
        layer = get_channel_layer()
        if not _reaches_other_processes(layer):
            return
        while True:
            try:
                channel = await layer.new_channel()
                await layer.group_add(GROUP, channel)
                while True:
                    self._receive_from_layer(await layer.receive(channel))
            except Exception as problem:
                outages.channel_layer.failed(repr(problem))
                await asyncio.sleep(LISTEN_AGAIN_SECONDS)

    def _receive_from_layer(self, message: dict[str, Any]) -> None:
        try:
            if message["origin"] != self.origin:
                self.receive(message["hint"])
        except Exception:
            # Perhaps from another version during an upgrade: polling finds the change.
            logger.exception("Could not use a hint of another process")

    async def look_again(self) -> None:
        """Wake the connections whose hints were lost."""
        if self._waits:
            for question_id in await in_database(settled_among, list(self._waits)):
                for wait in self._waits.get(question_id, ()):
                    wait.wake()
        watched = self.feeds.keys() | self._listeners.keys()
        if watched:
            await self._look_at_rooms(list(watched))

    async def _look_at_rooms(self, room_ids: list[int]) -> None:
        for room_id, revision in await in_database(revisions_of, room_ids):
            feed = self.feeds.get(room_id)
            if feed and feed.revision != revision:
                feed.wake()
            if self._seen_revisions.get(room_id) != revision:
                for connection in tuple(self._listeners.get(room_id, ())):
                    connection.wake()
            self._seen_revisions[room_id] = revision


def _count_down(counter: Counter[Any], name: Any) -> None:
    counter[name] -= 1
    if not counter[name]:
        del counter[name]


def _reaches_other_processes(layer: Any) -> bool:
    return layer is not None and not isinstance(layer, InMemoryChannelLayer)


def settled_among(question_ids: list[str]) -> list[str]:
    """Those of the questions that are settled."""
    settled = Question.objects.settled().order_by().values_list("pk", flat=True)
    return [pk for batch in in_batches(question_ids) for pk in settled.filter(pk__in=batch)]


def revisions_of(room_ids: list[int]) -> list[tuple[int, int]]:
    """The rooms with their current revisions."""
    rooms = Room.objects.order_by().values_list("pk", "revision")
    return [row for batch in in_batches(room_ids) for row in rooms.filter(pk__in=batch)]


hub = Hub()
