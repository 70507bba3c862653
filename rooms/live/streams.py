"""Streams of pages: the changes of one room or of all rooms of a person, from a cursor on.

Always in this order: register with the hub, replay from the database, wait. So no change is missed.
"""

from dataclasses import dataclass
from typing import Any

from rooms.access.locks import Standing
from rooms.db.pool import in_database
from rooms.live import events
from rooms.live.consumer import COMMENT_SECONDS, KEEP_ALIVE, LiveConsumer
from rooms.live.frames import AnyFrame, encode_frames
from rooms.live.hub import hub
from rooms.models import Room

# A stream with so many unsent changes is cut off; a page that still runs reconnects and gets a replay.
LONGEST_BACKLOG = 500


@dataclass(frozen=True)
class StreamGrant:
    """Show a person the changes of these rooms."""

    user_id: Any
    # None if the person is not signed in by a session, but for example by a header of the proxy.
    session_key: str | None
    rooms: list[Room]
    standing: Standing
    language: str
    # Whether it is the stream of all rooms of the person.
    many_rooms: bool
    # The cursors that the page sent, by room; None for a program that wants only what is new.
    cursors: dict[str, str] | None


class PageStream(LiveConsumer):
    """The stream of a page that shows some rooms; their feeds push changes to it."""

    user_id: Any = None
    session_key: str | None = None
    room_ids: frozenset[int] = frozenset()
    language = ""
    many_rooms = False
    standing: Standing | None = None
    # What was pushed before the replay was sent; None from then on.
    _early: list[AnyFrame] | None = None

    def show(self, grant: StreamGrant) -> None:
        """Show these rooms to this person."""
        self.user_id, self.session_key = grant.user_id, grant.session_key
        self.room_ids = frozenset(room.pk for room in grant.rooms)
        self.language, self.many_rooms, self.standing = grant.language, grant.many_rooms, grant.standing
        self._early = []
        self._chunks: list[bytes] = []

    async def open(self) -> None:
        grant: StreamGrant | None = await self.ask_host()
        if grant is None:
            return
        self.show(grant)
        revisions = await hub.add_stream(self, grant.rooms)
        await self.open_stream()
        await self.write(await self.replay(grant, revisions))

    async def replay(self, grant: StreamGrant, revisions: dict[int, int]) -> bytes:
        """What the page missed; `revisions` are those of the feeds when the stream was registered."""
        frames: list[AnyFrame] = []
        replayed: dict[str, int] = {}
        for room, since in events.replay_starts(grant.cursors, grant.rooms):
            if since == revisions[room.pk]:
                continue  # the page is where the feed is, which pushes all later changes
            replayed[room.slug], missed = await in_database(events.replay, room, since, [self.language])
            frames += missed
        frames += events.gone_frames(grant.cursors, grant.rooms)
        early, self._early = self._early or [], None
        # Of what was pushed meanwhile, only what is newer than the replay.
        frames += [
            frame
            for frame in early
            if frame.revision is None or frame.revision > replayed.get(frame.room, -1)
        ]
        return encode_frames(frames, *self.kind)

    @property
    def kind(self) -> tuple[Any, str, bool, Standing | None]:
        """Streams of one kind get the same bytes."""
        return self.user_id, self.language, self.many_rooms, self.standing

    def push(self, frames: list[AnyFrame], chunk: bytes) -> None:
        """Send these frames, which `chunk` has encoded for this kind of stream."""
        if self._early is not None:
            self._early.extend(frames)
            return
        self._chunks.append(chunk)
        if len(self._chunks) > LONGEST_BACKLOG:
            self.abort()
        self.wake()

    def reload(self) -> None:
        """Let the page load itself again, with a new stream."""
        frame = events.reload_frame()
        self.push([frame], frame.encode(*self.kind[:2], many_rooms=self.many_rooms))
        self.end()

    def on_due(self) -> None:
        self.due += COMMENT_SECONDS
        self.push([], KEEP_ALIVE)

    async def look(self) -> None:
        chunks, self._chunks = self._chunks, []
        if self.is_ending or hub.is_closing:
            await self.finish(b"".join(chunks))
        elif chunks:
            await self.write(b"".join(chunks))

    async def check_admission(self) -> None:
        """End the stream if the host no longer admits it, or the person's roles have changed."""
        grant: StreamGrant | None = await self.ask_host_again()
        if grant is None or (grant.user_id, grant.standing) != (self.user_id, self.standing):
            self.end()

    def unregister(self) -> None:
        hub.remove_stream(self)
