"""Frames: server-sent events, each rendered and encoded once for each kind of viewer."""

from collections.abc import Callable, Collection, Hashable
from typing import Any

from django.utils.translation import override

from rooms.access.locks import Standing

# The cursor of a room that the person can no longer see.
GONE = -1


class Frame:
    """One event, which may be another for the person it is about."""

    def __init__(
        self,
        room: str,
        revision: int | None,
        event: str,
        render: Callable[[bool], str],
        person: Any = None,
    ) -> None:
        self.room = room
        # None for events that are never replayed.
        self.revision = revision
        self.event = event
        # Renders the event for the person it is about (True) and for all others (False).
        self._render = render
        # As text: the channel layer carries the ids of people, and cannot carry UUIDs.
        self._person = None if person is None else str(person)
        self._rendered: dict[tuple[str, bool], str] = {}
        self._encoded: dict[tuple[str, bool, bool], bytes] = {}

    def prepare(self, languages: Collection[str]) -> None:
        """Render for these languages in this thread, so that the event loop does not have to."""
        for language in languages:
            for is_mine in (False, True) if self._person is not None else (False,):
                self._html(language, is_mine)

    def encode(
        self, user_id: Any, language: str, *, many_rooms: bool, standing: Standing | None = None
    ) -> bytes:
        is_mine = self._person is not None and self._person == str(user_id)
        kind = (language, is_mine, many_rooms)
        if kind not in self._encoded:
            self._encoded[kind] = encode_event(
                self.event, self._html(language, is_mine), self._cursor(many_rooms)
            )
        return self._encoded[kind]

    def _html(self, language: str, is_mine: bool) -> str:
        if (language, is_mine) not in self._rendered:
            with override(language):
                self._rendered[language, is_mine] = self._render(is_mine)
        return self._rendered[language, is_mine]

    def _cursor(self, many_rooms: bool) -> str:
        if self.revision is None:
            return ""
        revision = "" if self.revision == GONE else str(self.revision)
        return f"{self.room}:{revision}" if many_rooms else revision


class FrameByStanding:
    """A choice of frames by what the viewer may do."""

    def __init__(
        self,
        choose: Callable[[Standing | None], Hashable],
        make: Callable[[Any], Frame | None],
        usual: Collection[Hashable] = (),
    ) -> None:
        self._choose, self._make = choose, make
        self._usual = usual
        self._made: dict[Hashable, Frame | None] = {}
        # The frame for viewers without a standing; all choices share its room, revision and event.
        default = self._frame(choose(None))
        if default is None:
            raise ValueError("there is a frame for viewers without a standing")
        self.room, self.revision, self.event = default.room, default.revision, default.event

    def prepare(self, languages: Collection[str]) -> None:
        """Render the choices that most viewers get."""
        for frame in [self._frame(choice) for choice in (self._choose(None), *self._usual)]:
            if frame is not None:
                frame.prepare(languages)

    def encode(
        self, user_id: Any, language: str, *, many_rooms: bool, standing: Standing | None = None
    ) -> bytes:
        frame = self._frame(self._choose(standing))
        return b"" if frame is None else frame.encode(user_id, language, many_rooms=many_rooms)

    def _frame(self, choice: Hashable) -> Frame | None:
        if choice not in self._made:
            self._made[choice] = self._make(choice)
        return self._made[choice]


AnyFrame = Frame | FrameByStanding


def encode_frames(
    frames: Collection[AnyFrame],
    user_id: Any,
    language: str,
    many_rooms: bool,
    standing: Standing | None = None,
) -> bytes:
    """All frames for one kind of viewer, concatenated."""
    return b"".join(
        [frame.encode(user_id, language, many_rooms=many_rooms, standing=standing) for frame in frames]
    )


def encode_event(event: str, data: str, cursor: str = "") -> bytes:
    """A server-sent event as bytes; line breaks in the data cannot forge a field."""
    lines = [f"event: {event}"] if event else []
    if cursor:
        lines.append(f"id: {cursor}")
    lines += [f"data: {line}" for line in data.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return ("\n".join(lines) + "\n\n").encode()
