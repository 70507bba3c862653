"""Those who sleep in the hub until there is news for them."""

import asyncio
import math
from collections.abc import Callable
from typing import Any

from rooms.access.locks import Standing
from rooms.live.events import AnyFrame, encode_frames
from rooms.models import Question

# Nobody who waits for a person minds a tenth of a second.
TICKS_PER_SECOND = 10

# A viewer that lets so many frames pile up is dropped and comes back by replay.
VIEWER_BACKLOG = 500


class Clock:
    """Rings those whose time has come, some at a time: a timer for each would be larger than a sleeper."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._due: dict[int, set[Sleeper]] = {}

    def set(self, sleeper: "Sleeper", seconds: float) -> int:
        """Ring after so many seconds; returns what stops it."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._due = loop, {}
        tick = math.ceil((loop.time() + seconds) * TICKS_PER_SECOND)
        if tick not in self._due:
            self._due[tick] = set()
            loop.call_at(tick / TICKS_PER_SECOND, self._ring, tick)
        self._due[tick].add(sleeper)
        return tick

    def stop(self, tick: int, sleeper: "Sleeper") -> None:
        self._due.get(tick, set()).discard(sleeper)

    def _ring(self, tick: int) -> None:
        for sleeper in self._due.pop(tick, ()):
            sleeper.time_is_up()


clock = Clock()


class Sleeper:
    """Somebody who sleeps until there is news, the client leaves or the process stops.

    There are thousands of these, so each is as small as it can be.
    """

    __slots__ = ("_alarm", "_has_news", "is_gone", "is_refused", "key_id")

    def __init__(self) -> None:
        # The agent's key, for as long as it is alive; None for people.
        self.key_id: int | None = None
        self.is_gone = False
        self.is_refused = False
        self._has_news = False
        self._alarm: asyncio.Future[None] | None = None

    def wake(self) -> None:
        self._has_news = True
        self._ring()

    def leave(self) -> None:
        self.is_gone = True
        self.wake()

    def refuse(self) -> None:
        """The key was revoked: there is nothing more to wait for."""
        self.is_refused = True
        self.wake()

    async def sleep(self, seconds: float | None = None) -> bool:
        """Until woken, or False after `seconds`; without them, when it rings for another reason."""
        if not self._has_news:
            loop = asyncio.get_running_loop()
            self._alarm = loop.create_future()
            tick = None if seconds is None else clock.set(self, seconds)
            try:
                await self._alarm
            finally:
                if tick is not None:
                    clock.stop(tick, self)
                self._alarm = None
        was_woken, self._has_news = self._has_news, False
        return was_woken

    @property
    def _is_asleep(self) -> bool:
        return self._alarm is not None and not self._alarm.done()

    def time_is_up(self) -> None:
        self._ring()

    def _ring(self) -> None:
        if self._alarm and not self._alarm.done():
            self._alarm.set_result(None)


class Waiter(Sleeper):
    """An agent that waits for the result of one question."""

    __slots__ = ("question",)

    def __init__(self) -> None:
        super().__init__()
        self.question: Question | None = None

    def give(self, question: Question) -> None:
        self.question = question
        self.wake()


class Viewer(Sleeper):
    """A page that watches some rooms: gets its frames pushed."""

    __slots__ = (
        *("_frames", "_rhythm_seconds", "_tick"),
        *("language", "many_rooms", "room_ids", "session_key", "standing", "user_id", "write"),
    )

    def __init__(
        self,
        user_id: Any,
        session_key: str | None,
        room_ids: set[int],
        language: str,
        *,
        many_rooms: bool,
        standing: Standing | None = None,
    ) -> None:
        super().__init__()
        self.user_id = user_id
        self.session_key = session_key
        self.room_ids = room_ids
        self.language = language
        self.many_rooms = many_rooms
        self.standing = standing
        self._frames: list[AnyFrame] = []
        self._rhythm_seconds = 0.0
        self._tick = 0
        # Sends a chunk at once, or says that it cannot; nothing is sent past a stream that has not begun.
        self.write: Callable[[bytes], bool] | None = None

    def start_clock(self, seconds: float) -> None:
        """Ring every so many seconds, whatever happens in between.

        One for each sleep would be a good part of the work when something changes that thousands watch.
        """
        self._rhythm_seconds = seconds
        self._tick = clock.set(self, seconds)

    def stop_clock(self) -> None:
        self._rhythm_seconds = 0.0
        clock.stop(self._tick, self)

    def time_is_up(self) -> None:
        super().time_is_up()
        if self._rhythm_seconds:
            self.start_clock(self._rhythm_seconds)

    def push(self, frames: list[AnyFrame], chunk: bytes = b"") -> None:
        """Send the chunk that these frames make if the stream sleeps, else leave them for it."""
        if chunk and self.write and self._is_asleep and self.write(chunk):
            return
        self._frames.extend(frames)
        if len(self._frames) > VIEWER_BACKLOG:
            self.leave()
        self.wake()

    def catch_up(self, room: str, revision: int, frames: list[AnyFrame]) -> None:
        """Replay comes first; what was pushed meanwhile for these revisions is older and must not follow."""
        newer = [
            frame
            for frame in self._frames
            if frame.room != room or frame.revision is None or frame.revision > revision
        ]
        self._frames = [*frames, *newer]

    @property
    def kind(self) -> tuple[Any, str, bool]:
        """Those of one kind are sent the same bytes."""
        return self.user_id, self.language, self.many_rooms

    def take(self) -> bytes:
        """All frames that wait to be sent."""
        frames, self._frames = self._frames, []
        return encode_frames(frames, *self.kind, self.standing)
