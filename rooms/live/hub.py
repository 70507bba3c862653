"""One hub per process: wakes the agents that wait and feeds the pages that watch.

Hints come from this process at once and from others through the channel layer. A hint says only that a room
has a new revision; everybody who is woken reads the database. Hints may be lost, so the hub also looks again
by itself, with one query for all its waits and one for all its rooms.
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
from rooms.live.connections import Sleeper, Viewer, Waiter
from rooms.models import AgentKey, Question, Room
from rooms.notifications import outbox, planner
from rooms.notifications.delivery import DeliveryWorker
from rooms.people import presence

logger = logging.getLogger(__name__)

GROUP = "ask_bridge.hints"

# What a lost hint costs at most; a page that was cut off has to be right within 5 seconds.
LOOK_AGAIN_SECONDS = 2
# Expiry is promised to the second or two.
SWEEP_SECONDS = 1
# What was decided is found a moment later, and what was decided before stands on a new card.
READ_SECONDS = 1
# A third of the lease, so that one missed renewal does not mark an agent as gone.
RENEW_SECONDS = lifecycle.LEASE_SECONDS / 3
# Streams of people and waits of agents who lost their access end within 30 seconds.
RECHECK_ACCESS_SECONDS = 10
# Looking again is quicker than a channel layer that takes longer than this.
ANNOUNCE_SECONDS = 2
# Well within the lease of people's presence, and soon enough for "who is here".
LOOK_WHO_IS_HERE_SECONDS = 5
# Nobody waits at a page for what goes out by push, mail or webhook.
NOTICES_SECONDS = 2
FORGET_NOTICES_SECONDS = 3600
# About as long as the loop takes to answer an agent.
STEP_ASIDE_SECONDS = 0.0002
# Everybody who sleeps is told that we go, and has this long to say so to their client.
CLOSE_SECONDS = 3


class Feed:
    """What changes in one room, rendered once and pushed to every viewer in this process."""

    def __init__(self, room_id: int, revision: int) -> None:
        self.room_id = room_id
        self.revision = revision
        self.viewers: set[Viewer] = set()
        self._languages: Counter[str] = Counter()
        self._people: list[str] = []
        self._newcomers: set[Viewer] = set()
        self._news = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    def add(self, viewer: Viewer) -> None:
        self.viewers.add(viewer)
        self._languages[viewer.language] += 1
        self._newcomers.add(viewer)

    def remove(self, viewer: Viewer) -> None:
        if viewer in self.viewers:
            self.viewers.remove(viewer)
            self._languages -= Counter([viewer.language])
        self._newcomers.discard(viewer)

    def wake(self) -> None:
        self._news.set()

    def stop(self) -> None:
        self._task.cancel()

    def push(self, news: list[events.AnyFrame]) -> None:
        chunks: dict[Any, bytes] = {}
        for viewer in tuple(self.viewers):
            kind = viewer.kind
            if kind not in chunks:
                chunks[kind] = events.encode_frames(news, *kind, viewer.standing)
            viewer.push(news, chunks[kind])

    def show_people(self, slug: str, people: list[str]) -> None:
        """Tell who is here: everybody if that changed, else those who have not heard it yet."""
        told = self.viewers if people != self._people else self._newcomers
        frame = events.here_frame(slug, people)
        for viewer in tuple(told):
            # A stream of one room is for programs; only pages show people.
            if viewer.many_rooms:
                viewer.push([frame])
        self._people = people
        self._newcomers.clear()

    async def _run(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                revision, news = await in_database(
                    events.frames_after, self.room_id, self.revision, list(self._languages)
                )
                self.push(news)
                self.revision = revision
            except Exception:
                logger.exception("Could not tell the changes of room %s; looking again soon", self.room_id)


class Hub:
    def __init__(self) -> None:
        self.origin = secrets.token_hex(8)
        self.is_closing = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: list[asyncio.Task[None]] = []
        # Mostly of one, and there are thousands: a set would be larger than who is in it.
        self._waits: dict[str, tuple[Waiter, ...]] = {}
        self._listeners: dict[int, set[Sleeper]] = defaultdict(set)
        # How many listeners each key has here: they wait for the open questions of their key.
        self._listening_keys: Counter[int] = Counter()
        self._heard: dict[int, int] = {}
        self._feeds: dict[int, Feed] = {}
        self._streams: Counter[Any] = Counter()
        self._announcing: set[asyncio.Task[None]] = set()
        self._is_alone = False
        self._delivery_worker = DeliveryWorker()

    # ---- life

    async def start(self) -> None:
        """Begin to listen, look again and sweep; a second call does nothing."""
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
            asyncio.create_task(self._every(LOOK_WHO_IS_HERE_SECONDS, self._look_who_is_here)),
            asyncio.create_task(self._every(NOTICES_SECONDS, self._write_notices)),
            asyncio.create_task(self._every(NOTICES_SECONDS, self._send_notices)),
            asyncio.create_task(self._every(FORGET_NOTICES_SECONDS, self._forget_notices)),
        ]

    async def close(self) -> None:
        """Tell everybody who sleeps that the process stops, and wait until they said so to their clients."""
        self.is_closing = True
        for task in self._tasks:
            task.cancel()
        await self._delivery_worker.stop()
        for _ in range(CLOSE_SECONDS * 100):
            sleepers = self._sleepers()
            if not sleepers:
                break
            for sleeper in sleepers:
                sleeper.wake()
            await asyncio.sleep(0.01)
        self._loop = None

    def _sleepers(self) -> list[Sleeper]:
        groups: list[Collection[Any]] = [*self._waits.values(), *self._listeners.values(), self._viewers()]
        return [sleeper for group in groups for sleeper in group]

    def _viewers(self) -> set[Viewer]:
        return {viewer for feed in self._feeds.values() for viewer in feed.viewers}

    # ---- who sleeps here

    def add_wait(self, question_id: str, sleeper: Waiter) -> None:
        if len(self._waits.get(question_id, ())) >= setting("WAITS_PER_QUESTION"):
            raise problems.too_many("Too many wait for this question already")
        self._waits[question_id] = (*self._waits.get(question_id, ()), sleeper)

    def remove_wait(self, question_id: str, sleeper: Waiter) -> bool:
        """True if nothing else in this process waits for the question."""
        others = tuple(waiter for waiter in self._waits.pop(question_id, ()) if waiter is not sleeper)
        if others:
            self._waits[question_id] = others
        return not others and not self.is_listening(sleeper.key_id)

    def add_listener(self, room_id: int, key_id: int, sleeper: Sleeper) -> None:
        """Let an agent listen, unless its key has too many open here already."""
        if self._listening_keys[key_id] >= setting("LISTENERS_PER_KEY"):
            raise problems.too_many("Too many listen with this key already")
        sleeper.key_id = key_id
        self._listeners[room_id].add(sleeper)
        self._listening_keys[key_id] += 1

    def remove_listener(self, room_id: int, key_id: int, sleeper: Sleeper) -> None:
        _discard(self._listeners, room_id, sleeper)
        self._listening_keys[key_id] -= 1
        if not self._listening_keys[key_id]:
            del self._listening_keys[key_id]

    def is_listening(self, key_id: int | None) -> bool:
        """Whether a poll or event stream with this key is held here; asked from any thread."""
        return key_id in self._listening_keys

    def is_waited_for(self, question_id: str) -> bool:
        """Whether an agent waits here for this very question; asked from any thread."""
        return question_id in self._waits

    def welcome(self, viewer: Viewer) -> None:
        """Let a page in, unless its person has too many open here already."""
        if self._streams[viewer.user_id] >= setting("STREAMS_PER_PERSON"):
            raise problems.too_many("Too many pages are open already")
        self._streams[viewer.user_id] += 1

    async def join(self, viewer: Viewer, rooms: Collection[Room]) -> dict[int, int]:
        """Push what comes after the returned revisions: the feeds', or the rooms' own where a feed is new."""
        new = [room.pk for room in rooms if room.pk not in self._feeds]
        heard = {}
        for room in rooms:
            feed = self._feeds.get(room.pk)
            if feed is None:
                feed = self._feeds[room.pk] = Feed(room.pk, room.revision)
            feed.add(viewer)
            heard[room.pk] = feed.revision
        if new:
            # They may have changed between the caller's read and this moment, unheard.
            await self._look_at_rooms(new)
        return heard

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
        """How many sleep in this process; asked from any thread while others come and go."""
        return {
            "waits": sum(map(len, list(self._waits.values()))),
            "listeners": sum(map(len, list(self._listeners.values()))),
            "streams": sum(list(self._streams.values())),
        }

    # ---- hints

    def hand_over(self, question: Question, **signal: Any) -> None:
        """A result, for the agents that wait for it in this process: nothing comes before them."""
        if self._loop is not None and question.pk in self._waits:
            self._loop.call_soon_threadsafe(self._hand_over, question)

    def let_agents_go_first(self, question: Question) -> None:
        """Step aside: while this thread goes on to its own response, the loop would wait for its turn."""
        if question.pk in self._waits:
            sleep(STEP_ASIDE_SECONDS)

    def _hand_over(self, question: Question) -> None:
        for waiter in self._waits.get(question.pk, ()):
            waiter.give(question)

    def announce(self, room_id: int, question_id: str | None, is_settled: bool, **signal: Any) -> None:
        """A room changed, as told from any thread after commit."""
        self._send({"room_id": room_id, "settled": question_id if is_settled else None})

    def tell_answering(self, question: Question, user: lifecycle.Person) -> None:
        """Somebody has begun to fill in a card. Kept nowhere: it lapses by itself on the pages."""
        told = {
            "slug": question.room.slug,
            "question_id": question.pk,
            "user_id": str(user.pk),
            "name": lifecycle.name_of(user),
        }
        self._send({"room_id": question.room_id, "answering": told})

    def _send(self, hint: dict[str, Any]) -> None:
        reaches_others = _reaches_others(get_channel_layer())
        if self._loop is not None:
            # The loop is not woken for a room that nobody follows; whoever comes now reads what is committed.
            if reaches_others or hint["room_id"] in self._feeds or hint["room_id"] in self._listeners:
                self._loop.call_soon_threadsafe(self._announce_here, hint)
        elif reaches_others:
            # A command or a WSGI process: nobody sleeps here, but somebody may elsewhere.
            async_to_sync(self._announce_elsewhere)(hint)

    def _announce_here(self, hint: dict[str, Any]) -> None:
        self._take(hint)
        if _reaches_others(get_channel_layer()):
            task = asyncio.create_task(self._announce_elsewhere(hint))
            self._announcing.add(task)
            task.add_done_callback(self._announcing.discard)

    async def _announce_elsewhere(self, hint: dict[str, Any]) -> None:
        try:
            async with asyncio.timeout(ANNOUNCE_SECONDS):
                await get_channel_layer().group_send(
                    GROUP, {"type": "hint", "origin": self.origin, "hint": hint}
                )
            self._note_layer(None)
        except Exception as problem:
            self._note_layer(problem)

    def _note_layer(self, problem: Exception | None) -> None:
        """Say once that the channel layer went, and once that it is back, however many hints are lost."""
        if problem and not self._is_alone:
            logger.warning("The channel layer is out of reach: processes look again instead (%r)", problem)
        elif self._is_alone and not problem:
            logger.warning("The channel layer is back")
        self._is_alone = problem is not None

    def _take(self, hint: dict[str, Any]) -> None:
        feed = self._feeds.get(hint["room_id"])
        if "answering" in hint:
            if feed:
                feed.push([events.answering_frame(**hint["answering"])])
            return
        # Agents first: rendering cards can wait for the millisecond that this takes.
        for waiter in self._waits.get(hint["settled"], ()):
            waiter.wake()
        for sleeper in self._listeners.get(hint["room_id"], ()):
            sleeper.wake()
        if feed:
            feed.wake()

    async def _listen(self) -> None:
        layer = get_channel_layer()
        if not _reaches_others(layer):
            return
        while True:
            try:
                channel = await layer.new_channel()
                await layer.group_add(GROUP, channel)
                while True:
                    message = await layer.receive(channel)
                    if message["origin"] != self.origin:
                        self._take(message["hint"])
            except Exception as problem:
                self._note_layer(problem)
                await asyncio.sleep(1)

    # ---- what happens by itself

    async def _every(self, seconds: float, duty: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await duty()
            except Exception:
                logger.exception("%s failed; again in %g seconds", duty.__name__, seconds)

    async def _sweep(self) -> None:
        await in_database(lifecycle.sweep)

    async def _write_history(self) -> None:
        await in_database(writer.catch_up)

    async def _recall(self) -> None:
        await in_database(earlier_answers.catch_up)

    async def _look_again(self) -> None:
        if self._waits:
            for question_id in await in_database(_settled_among, list(self._waits)):
                for waiter in self._waits.get(question_id, ()):
                    waiter.wake()
        watched = self._feeds.keys() | self._listeners.keys()
        if watched:
            await self._look_at_rooms(list(watched))

    async def _look_at_rooms(self, room_ids: list[int]) -> None:
        for room_id, revision in await in_database(_revisions_of, room_ids):
            feed = self._feeds.get(room_id)
            if feed and feed.revision != revision:
                feed.wake()
            if self._heard.get(room_id) != revision:
                for sleeper in self._listeners.get(room_id, ()):
                    sleeper.wake()
            self._heard[room_id] = revision

    async def _renew_leases(self) -> None:
        for key_id in list(self._listening_keys):
            await in_database(_renew_leases_of, key_id)
        if self._waits:
            await in_database(lifecycle.renew_leases, list(self._waits))

    async def _look_who_is_here(self) -> None:
        people = {viewer.user_id for viewer in self._viewers() if viewer.many_rooms}
        if people:
            for room, names in await in_database(presence.renew_and_look, people, list(self._feeds)):
                if room.pk in self._feeds:
                    self._feeds[room.pk].show_people(room.slug, names)

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
        for sleeper in self._sleepers():
            if sleeper.key_id is not None:
                by_key[sleeper.key_id].append(sleeper)
        if by_key:
            alive = await in_database(_usable_among, list(by_key))
            for key_id in by_key.keys() - alive:
                for sleeper in by_key[key_id]:
                    sleeper.refuse()

    async def _recheck_people(self) -> None:
        viewers = self._viewers()
        by_session = defaultdict(list)
        for viewer in viewers:
            by_session[viewer.session_key].append(viewer)
        for session_key, group in by_session.items():
            allowed = await in_database(_rooms_of_session, session_key)
            for viewer in group:
                # Who watches all rooms comes back for the new ones as well.
                has_changed = viewer.many_rooms and viewer.room_ids != allowed
                if has_changed or not viewer.room_ids <= allowed:
                    viewer.leave()


def _discard(sleepers: dict[Any, set[Any]], name: Any, sleeper: Sleeper) -> None:
    sleepers[name].discard(sleeper)
    if not sleepers[name]:
        del sleepers[name]


def _reaches_others(layer: Any) -> bool:
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
