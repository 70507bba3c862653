"""What changed in a room as server-sent events for its open pages, named by what they replace.

`card-ID` and `marks-ID` replace a card or its marks, `question` adds an open card, `entry` a line of the
timeline, `count-ROOM` is the number of open questions, and after `reset` the page has to load anew.
"""

from collections.abc import Iterator
from typing import Any

from rooms import timeline
from rooms.cards import render_card, render_marks, render_message
from rooms.models import Question, Room

# After so many missed changes a page is quicker to load anew than to repair.
REPLAY_LIMIT = 300


class Frame:
    """One server-sent event, encoded once for each kind of viewer that is there."""

    def __init__(
        self, room: str, revision: int, event: str, html: str, mine: str = "", answerer: Any = None
    ) -> None:
        self.room = room
        self.revision = revision
        self.event = event
        self._html = html
        self._mine = mine
        self._answerer = answerer
        self._encoded: dict[tuple[bool, bool], bytes] = {}

    def encode(self, user_id: Any, *, many_rooms: bool) -> bytes:
        is_mine = self._answerer is not None and self._answerer == user_id
        kind = (is_mine, many_rooms)
        if kind not in self._encoded:
            cursor = f"{self.room}:{self.revision}" if many_rooms else str(self.revision)
            self._encoded[kind] = encode_event(self.event, self._mine if is_mine else self._html, cursor)
        return self._encoded[kind]


def encode_event(event: str, data: str, cursor: str = "") -> bytes:
    """Server-sent event bytes; what an agent wrote cannot end a line early and forge a field."""
    lines = [f"event: {event}"] if event else []
    if cursor:
        lines.append(f"id: {cursor}")
    lines += [f"data: {line}" for line in data.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return ("\n".join(lines) + "\n\n").encode()


def frames_after(room_id: int, revision: int) -> tuple[int, list[Frame]]:
    """What a page at this revision has to change, and the revision that it is at then."""
    slug = Room.objects.values_list("slug", flat=True).get(pk=room_id)
    changes = timeline.changes_after(room_id, revision, REPLAY_LIMIT)
    if changes is None:
        current = Room.objects.values_list("revision", flat=True).get(pk=room_id)
        return current, [reset_frame(slug, current)]
    frames = [
        frame
        for question in changes.questions
        for frame in _question_frames(question, slug, revision, changes.revision)
    ]
    frames += [
        Frame(slug, message.position, "entry", render_message(message)) for message in changes.messages
    ]
    frames.sort(key=lambda frame: frame.revision)
    if changes.questions:
        open_count = Question.objects.open().filter(room_id=room_id).count()
        frames.append(Frame(slug, changes.revision, f"count-{slug}", str(open_count)))
    return changes.revision, frames


def open_frames(room_id: int) -> tuple[int, list[Frame]]:
    """The open questions of a room that the page has not heard of yet, and the revision they are at."""
    room = Room.objects.get(pk=room_id)
    questions = Question.objects.with_answer().open().filter(room=room).order_by("position")[:REPLAY_LIMIT]
    return room.revision, [
        Frame(room.slug, question.revision, "question", render_card(question)) for question in questions
    ]


def reset_frame(slug: str, revision: int) -> Frame:
    """The page's cursor cannot be served: it has to load anew."""
    return Frame(slug, revision, "reset", "")


def _question_frames(question: Question, slug: str, revision: int, current: int) -> Iterator[Frame]:
    """First what changes a card that is there, then what adds it where it is not."""
    # As a cursor a frame must not be ahead of what was read: who comes back with it would miss the rest.
    cursor = min(question.revision, current)
    answer = question.answer_or_none
    answerer = answer.user_id if answer else None

    def card_frame(event: str) -> Frame:
        mine = render_card(question, answerer) if answerer is not None else ""
        return Frame(slug, cursor, event, render_card(question), mine, answerer)

    if question.is_open or (question.settled_position or 0) <= revision:
        yield Frame(slug, cursor, f"marks-{question.pk}", render_marks(question))
    else:
        yield card_frame(f"card-{question.pk}")
    if question.position > revision:
        # Not "open": an EventSource has an event of that name already.
        yield card_frame("question" if question.is_open else "entry")
