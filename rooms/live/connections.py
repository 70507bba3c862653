"""Open connections: one object per agent wait or page stream."""

import asyncio
import math
from collections.abc import Callable
from typing import Any

from rooms.access.locks import Standing
from rooms.live.events import AnyFrame, encode_frames
from rooms.models import Question

# A tenth of a second is precise enough for a wait for a person.
TICKS_PER_SECOND = 10

# A viewer with so many unsent frames is disconnected; it reconnects and gets a replay.
VIEWER_BACKLOG = 500


class TimerWheel:
    """Timers of connections, grouped by tick: one loop timer each would be larger than a connection."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._due: dict[int, set[Connection]] = {}

    def set(self, connection: "Connection", seconds: float) -> int:
        """Call `on_timer` after so many seconds; returns the tick, which `stop` takes."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._due = loop, {}
        tick = math.ceil((loop.time() + seconds) * TICKS_PER_SECOND)
        if tick not in self._due:
            self._due[tick] = set()
            loop.call_at(tick / TICKS_PER_SECOND, self._fire, tick)
        self._due[tick].add(connection)
        return tick

    def stop(self, tick: int, connection: "Connection") -> None:
        self._due.get(tick, set()).discard(connection)

    def _fire(self, tick: int) -> None:
        for connection in self._due.pop(tick, ()):
            connection.on_timer()


timers = TimerWheel()


class Connection:
    """A connection that waits until it is woken, the client disconnects or the process stops.

    There are thousands of these, so each is as small as possible.
    """

    __slots__ = ("_wake_up", "_was_woken", "is_disconnected", "is_revoked", "key_id")

    def __init__(self) -> None:
        # The id of the agent's key; None for people.
        self.key_id: int | None = None
        self.is_disconnected = False
        self.is_revoked = False
        self._was_woken = False
        self._wake_up: asyncio.Future[None] | None = None

    def wake(self) -> None:
        self._was_woken = True
        self._resume()

    def disconnect(self) -> None:
        self.is_disconnected = True
        self.wake()

    def revoke(self) -> None:
        """End the wait: its key was revoked."""
        self.is_revoked = True
        self.wake()

    async def sleep(self, seconds: float | None = None) -> bool:
        """Wait until woken; False after `seconds`, or when a timer fires."""
        if not self._was_woken:
            loop = asyncio.get_running_loop()
            self._wake_up = loop.create_future()
            tick = None if seconds is None else timers.set(self, seconds)
            try:
                await self._wake_up
            finally:
                if tick is not None:
                    timers.stop(tick, self)
                self._wake_up = None
        was_woken, self._was_woken = self._was_woken, False
        return was_woken

    @property
    def _is_idle(self) -> bool:
        return self._wake_up is not None and not self._wake_up.done()

    def on_timer(self) -> None:
        self._resume()

    def _resume(self) -> None:
        if self._wake_up and not self._wake_up.done():
            self._wake_up.set_result(None)


class AnswerWait(Connection):
    """An agent that waits for the result of one question."""

    __slots__ = ("question",)

    def __init__(self) -> None:
        super().__init__()
        self.question: Question | None = None

    def hand_over(self, question: Question) -> None:
        self.question = question
        self.wake()


class Viewer(Connection):
    """The stream of a page that shows some rooms; the hub pushes frames to it."""

    __slots__ = (
        *("_frames", "_interval_seconds", "_tick"),
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
        self._interval_seconds = 0.0
        self._tick = 0
        # Sends a chunk without waiting, or returns False. None until the stream has begun.
        self.write: Callable[[bytes], bool] | None = None

    def start_timer(self, seconds: float) -> None:
        """Fire every so many seconds, independent of events.

        A timer for each wait would be much of the work when a change goes to thousands of viewers.
        """
        self._interval_seconds = seconds
        self._tick = timers.set(self, seconds)

    def stop_timer(self) -> None:
        self._interval_seconds = 0.0
        timers.stop(self._tick, self)

    def on_timer(self) -> None:
        super().on_timer()
        if self._interval_seconds:
            self.start_timer(self._interval_seconds)

    def push(self, frames: list[AnyFrame], chunk: bytes = b"") -> None:
        """Send the encoded frames now if the stream is idle, else queue them."""
        if chunk and self.write and self._is_idle and self.write(chunk):
            return
        self._frames.extend(frames)
        if len(self._frames) > VIEWER_BACKLOG:
            self.disconnect()
        self.wake()

    def catch_up(self, room: str, revision: int, frames: list[AnyFrame]) -> None:
        """Put replayed frames first and drop queued frames of this room that are not newer."""
        newer = [
            frame
            for frame in self._frames
            if frame.room != room or frame.revision is None or frame.revision > revision
        ]
        self._frames = [*frames, *newer]

    @property
    def kind(self) -> tuple[Any, str, bool]:
        """Viewers of one kind get the same bytes."""
        return self.user_id, self.language, self.many_rooms

    def take(self) -> bytes:
        """Empty the queue; returns its frames, encoded."""
        frames, self._frames = self._frames, []
        return encode_frames(frames, *self.kind, self.standing)
