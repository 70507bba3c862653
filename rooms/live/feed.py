"""Feed of one room: its changes are rendered once and pushed to every page stream of this process."""

import asyncio
import logging
from collections import Counter
from typing import TYPE_CHECKING, Any

from rooms.db.pool import in_database
from rooms.live import events
from rooms.live.frames import AnyFrame, encode_frames
from rooms.people.presence import PersonHere

if TYPE_CHECKING:
    from rooms.live.streams import PageStream

logger = logging.getLogger(__name__)


class Feed:
    """The page streams of a room, and the revision up to which they have its changes."""

    def __init__(self, room_id: int, revision: int) -> None:
        self.room_id = room_id
        self.revision = revision
        self.streams: set[PageStream] = set()
        self._languages: Counter[str] = Counter()
        # The people and agents that were pushed last.
        self._here: tuple[list[PersonHere], list[str]] = [], []
        self._new_streams: set[PageStream] = set()
        self._changed = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    def add(self, stream: "PageStream") -> None:
        self.streams.add(stream)
        self._languages[stream.language] += 1
        self._new_streams.add(stream)

    def remove(self, stream: "PageStream") -> None:
        if stream in self.streams:
            self.streams.remove(stream)
            self._languages -= Counter([stream.language])
        self._new_streams.discard(stream)

    def wake(self) -> None:
        self._changed.set()

    def stop(self) -> None:
        self._task.cancel()

    def push(self, frames: list[AnyFrame]) -> None:
        """Push frames to all streams; those of one kind get the same bytes."""
        chunks: dict[Any, bytes] = {}
        for stream in tuple(self.streams):
            kind = stream.kind
            try:
                if kind not in chunks:
                    chunks[kind] = encode_frames(frames, *kind)
                stream.push(frames, chunks[kind])
            except Exception:
                # Its page reconnects and gets a replay; the others must not miss the change.
                logger.exception("Could not push a change of room %s to a page", self.room_id)
                stream.end()

    def push_presence(self, slug: str, people: list[PersonHere], agents: list[str]) -> None:
        """Push who is present: to all streams if that changed, else to new ones."""
        receivers = self.streams if (people, agents) != self._here else self._new_streams
        frames: list[AnyFrame] = [
            events.presence_frame(slug, people),
            events.connected_frame(slug, agents),
        ]
        for stream in tuple(receivers):
            # A stream of one room is for programs; only pages show presence.
            if stream.many_rooms:
                stream.push(frames, encode_frames(frames, *stream.kind))
        self._here = people, agents
        self._new_streams.clear()

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
