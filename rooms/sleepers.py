"""Those who sleep in the hub until there is news for them."""

import asyncio
from collections import deque
from typing import Any

from rooms.frames import Frame

# A viewer that lets so many frames pile up is dropped and comes back by replay.
VIEWER_BACKLOG = 500


class Sleeper:
    """Somebody who sleeps until there is news, the client leaves or the process stops."""

    # The agent's key, for as long as it is alive; None for people.
    key_id: int | None = None

    def __init__(self) -> None:
        self.news = asyncio.Event()
        self.is_gone = False
        self.is_refused = False

    def wake(self) -> None:
        self.news.set()

    def leave(self) -> None:
        self.is_gone = True
        self.news.set()

    def refuse(self) -> None:
        """The key was revoked: there is nothing more to wait for."""
        self.is_refused = True
        self.news.set()

    async def sleep(self, seconds: float) -> bool:
        """Until woken, or False after `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self.news.wait()
        except TimeoutError:
            return False
        self.news.clear()
        return True


class Viewer(Sleeper):
    """A page that watches some rooms: gets its frames pushed."""

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
        self._frames: deque[Frame] = deque()

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
        self._frames = deque([*frames, *newer])

    def take(self) -> bytes:
        """All frames that wait to be sent."""
        frames = [
            frame.encode(self.user_id, self.language, many_rooms=self.many_rooms) for frame in self._frames
        ]
        self._frames.clear()
        return b"".join(frames)
