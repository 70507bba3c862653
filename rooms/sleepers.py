"""Those who sleep in the hub until there is news for them."""

import asyncio
from typing import Any

from rooms.frames import Frame
from rooms.models import Question

# A viewer that lets so many frames pile up is dropped and comes back by replay.
VIEWER_BACKLOG = 500


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
            clock = None if seconds is None else loop.call_later(seconds, self._ring)
            try:
                await self._alarm
            finally:
                if clock:
                    clock.cancel()
                self._alarm = None
        was_woken, self._has_news = self._has_news, False
        return was_woken

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

    __slots__ = ("_clock", "_frames", "language", "many_rooms", "room_ids", "session_key", "user_id")

    def __init__(
        self,
        user_id: Any,
        session_key: str | None,
        room_ids: set[int],
        language: str,
        *,
        many_rooms: bool,
    ) -> None:
        super().__init__()
        self.user_id = user_id
        self.session_key = session_key
        self.room_ids = room_ids
        self.language = language
        self.many_rooms = many_rooms
        self._frames: list[Frame] = []
        self._clock: asyncio.TimerHandle | None = None

    def start_clock(self, seconds: float) -> None:
        """Ring every so many seconds, whatever happens in between.

        One clock for each sleep would be a good part of the work when something changes that thousands watch.
        """
        self._ring()
        self._clock = asyncio.get_running_loop().call_later(seconds, self.start_clock, seconds)

    def stop_clock(self) -> None:
        if self._clock:
            self._clock.cancel()

    def push(self, frames: list[Frame]) -> None:
        self._frames.extend(frames)
        if len(self._frames) > VIEWER_BACKLOG:
            self.leave()
        self.wake()

    def catch_up(self, room: str, revision: int, frames: list[Frame]) -> None:
        """Replay comes first; what was pushed meanwhile for these revisions is older and must not follow."""
        newer = [
            frame
            for frame in self._frames
            if frame.room != room or frame.revision is None or frame.revision > revision
        ]
        self._frames = [*frames, *newer]

    def take(self) -> bytes:
        """All frames that wait to be sent."""
        frames = [
            frame.encode(self.user_id, self.language, many_rooms=self.many_rooms) for frame in self._frames
        ]
        self._frames = []
        return b"".join(frames)
