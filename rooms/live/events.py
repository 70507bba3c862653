"""Changes of a room as server-sent events for open pages, named by the element that they replace.

`card-ID`, `marks-ID` and `memory-ID` replace a card or these parts of it, `unlock-ID` a card that was locked
for this person. `question` adds an open card, `others` one that only others may decide, `entry` a line of the
timeline, `correction-ID` a correction to a decided card. `count-ROOM` is the number of questions that an
agent waits for and this person may decide, and after `reset` the page has to reload.
Three are never replayed: `answering-ID` for the person who fills in a card, `here-ROOM` for the people
present, `agents-ROOM` for the connected agents.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

from django.db.models import Count
from django.template.loader import render_to_string

from rooms import timeline
from rooms.access import locks
from rooms.access.locks import Standing
from rooms.contract.restrictions import Lock
from rooms.db.compiled import Select
from rooms.live.frames import GONE, AnyFrame, Frame, FrameByStanding
from rooms.models import Message, Question, Room
from rooms.people.presence import PersonHere
from rooms.permissions import permissions
from rooms.rendering.cards import (
    render_card,
    render_correction,
    render_marks,
    render_memory,
    render_message,
)
from rooms.rendering.outcome import answerer_of

ROOM = Select(lambda id: Room.objects.filter(pk=id))
# How many undecided questions of a room an agent waits for, and how many of them are careful questions.
ATTENDED_COUNT = Select(
    lambda room: (
        Question.objects.attended()
        .filter(room=room, held_until=None)
        .order_by()
        .values("room")
        .values_list(Count("pk"), Count("care"))
    )
)


def _text(html: str) -> Callable[[bool], str]:
    """A renderer for text that is the same for all viewers."""
    return lambda is_mine: html


def frames_after(room_id: int, revision: int, languages: Collection[str] = ()) -> tuple[int, list[AnyFrame]]:
    """The current revision of the room, and the frames that update a page to it from this revision."""
    room = ROOM.first(id=room_id)
    if room is None:
        raise Room.DoesNotExist
    changes = timeline.changes_after(room, revision)
    if changes is None:
        return room.revision, [reset_frame(room.slug, room.revision)]
    corrections = _corrections(changes)
    frames: list[AnyFrame] = [
        frame
        for question in changes.questions
        for frame in _question_frames(question, room.slug, revision, room.revision, corrections[question.pk])
    ]
    frames += [frame for message in changes.messages for frame in _message_frames(message, room.slug)]
    frames.sort(key=lambda frame: frame.revision or 0)
    # The count changes when a question is asked, settled or unlocked, or its agent starts or stops waiting.
    if any(one.is_open or (one.settled_position or 0) > revision for one in changes.questions):
        frames.append(_count_frame(room.pk, room.slug, room.revision))
    for frame in frames:
        frame.prepare(languages)
    return room.revision, frames


def replay_starts(cursors: dict[str, str] | None, rooms: list[Room]) -> list[tuple[Room, int | None]]:
    """The revision from which each room is replayed: -1 for an invalid cursor; None for rooms that are new to
    the page, which come last."""
    if cursors is None:
        return []
    known = [(room, _revision(cursors[room.slug])) for room in rooms if room.slug in cursors]
    return [*known, *((room, None) for room in rooms if room.slug not in cursors)]


def _revision(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1


def replay(room: Room, since: int | None, languages: Collection[str]) -> tuple[int, list[AnyFrame]]:
    """The current revision of a room, and the frames for a page from one of the `replay_starts` on."""
    if since is None:
        return open_frames(room.pk, languages)
    if since < 0:
        return room.revision, [reset_frame(room.slug, room.revision)]
    return frames_after(room.pk, since, languages)


def gone_frames(cursors: dict[str, str] | None, rooms: list[Room]) -> list[AnyFrame]:
    """Frames for the rooms of the page that the person can no longer see."""
    return [reset_frame(slug, GONE) for slug in (cursors or {}).keys() - {room.slug for room in rooms}]


def open_frames(room_id: int, languages: Collection[str] = ()) -> tuple[int, list[AnyFrame]]:
    """The revision and the open cards of a room that is new to the page."""
    room = Room.objects.get(pk=room_id)
    questions = (
        Question.objects.with_answer().open().filter(room=room).order_by("position")[: timeline.REPLAY_LIMIT]
    )
    frames = [_card_frame(question, room.slug, question.revision, "question") for question in questions]
    frames.append(_count_frame(room.pk, room.slug, room.revision))
    for frame in frames:
        frame.prepare(languages)
    return room.revision, frames


def _count_frame(room_id: int, slug: str, revision: int) -> AnyFrame:
    """The number of questions that wait for the viewer."""
    count, careful_count = ATTENDED_COUNT.first(room=room_id) or (0, 0)

    def make(number: int) -> Frame:
        return Frame(slug, revision, f"count-{slug}", _text(str(number)))

    if not careful_count and permissions().lets_all_answer:
        return make(count)
    ballots = locks.ballots_in(room_id)

    def choose(standing: Standing | None) -> int:
        if standing and room_id in standing.watches:
            return 0
        return count - locks.count_locked(ballots, room_id, standing)

    return FrameByStanding(choose, make)


def reset_frame(slug: str, revision: int) -> Frame:
    """The page has to reload: its cursor cannot be served, or it shows a room that is gone."""
    return Frame(slug, revision, "reset", _text(""))


def reload_frame() -> Frame:
    """The same for a reason that no replay can serve: the person has other roles."""
    return Frame("", None, "reset", _text(""))


def answering_frame(slug: str, question_id: str, user_id: Any, name: str) -> Frame:
    """A person has begun to fill in a card; empty for that person."""

    def render(is_mine: bool) -> str:
        return "" if is_mine else render_to_string("ask_bridge/_answering.html", {"name": name})

    return Frame(slug, None, f"answering-{question_id}", render, user_id)


def presence_frame(slug: str, people: list[PersonHere]) -> Frame:
    """The people who have a page open and would see a question in this room."""
    html = partial(render_to_string, "ask_bridge/_people.html", {"people": people})
    return Frame(slug, None, f"here-{slug}", lambda is_mine: html())


def connected_frame(slug: str, agents: list[str]) -> Frame:
    """The agents that would hear a message in this room."""
    html = partial(render_to_string, "ask_bridge/_connected.html", {"connected": agents})
    return Frame(slug, None, f"agents-{slug}", lambda is_mine: html())


def _corrections(changes: timeline.Changes) -> dict[str, list[Message]]:
    """The corrections of the changed questions that get a new card, by question id.

    A question that was settled after the revision of the page has its corrections among the changes; only
    while its decision was held there can be older ones.
    """
    found: dict[str, list[Message]] = defaultdict(list)
    for message in changes.messages:
        if message.question_id:
            found[message.question_id].append(message)
    held = [question for question in changes.questions if question.votes and not question.is_open]
    return found | timeline.corrections_of(held) if held else found


def _message_frames(message: Message, slug: str) -> Iterator[Frame]:
    yield Frame(slug, message.position, "entry", lambda is_mine: render_message(message))
    if message.question_id:
        event = f"correction-{message.question_id}"
        yield Frame(slug, message.position, event, lambda is_mine: render_correction(message))


def _card(question: Question, lock: Lock | None, is_mine: bool) -> str:
    return render_card(question, answerer_of(question) if is_mine else None, lock=lock)


def _card_frame(
    question: Question, slug: str, cursor: int, event: str, corrections: Collection[Message] = ()
) -> AnyFrame:
    """The whole card as each viewer sees it; a new one that only others may decide is the event `others`."""
    if not question.is_open:
        return _settled_frame(question, slug, cursor, event, corrections)

    def make(lock: Lock | None) -> Frame:
        name = "others" if lock and event == "question" else event
        return Frame(slug, cursor, name, partial(_card, question, lock), answerer_of(question))

    limits = locks.restriction_of(question)
    if limits is None and permissions().lets_all_answer:
        return make(None)
    usual = [lock for lock in (Lock.VOTES, Lock.FIRST) if limits and limits.has(lock)]
    return FrameByStanding(partial(locks.lock_on, question), make, usual)


def _settled_frame(
    question: Question, slug: str, cursor: int, event: str, corrections: Collection[Message]
) -> AnyFrame:
    """A settled card with its corrections; who only watches the room gets no form to write one."""

    def render(may_write: bool, is_mine: bool) -> str:
        viewer = answerer_of(question) if is_mine else None
        return render_card(question, viewer, may_write=may_write, corrections=list(corrections))

    def make(may_write: bool) -> Frame:
        return Frame(slug, cursor, event, partial(render, may_write), answerer_of(question))

    if permissions().lets_all_answer:
        return make(True)
    return FrameByStanding(partial(locks.may_write, question.room_id), make)


def _marks_frame(question: Question, slug: str, cursor: int) -> AnyFrame:
    """The status of the card; an open one says what the viewer may do, and what they voted for."""
    voters = {vote["username"]: vote["user_id"] for vote in question.votes or ()}

    def choose(standing: Standing | None) -> tuple[Lock | None, str | None]:
        return locks.lock_on(question, standing), voters.get(standing.username) if standing else None

    def make(viewer: tuple[Lock | None, str | None]) -> Frame:
        return Frame(slug, cursor, f"marks-{question.pk}", lambda is_mine: render_marks(question, *viewer))

    limits = locks.restriction_of(question)
    if not question.is_open or (not voters and limits is None and permissions().lets_all_answer):
        return make((None, None))
    usual_locks = [lock for lock in (Lock.VOTES, Lock.FIRST) if limits and limits.has(lock)]
    usual = [*((lock, None) for lock in usual_locks), *((None, user_id) for user_id in voters.values())]
    return FrameByStanding(choose, make, usual)


def _unlock_frame(question: Question, slug: str, cursor: int) -> AnyFrame:
    """The card without its lock; pages use it only if their card is locked."""

    def make(lock: Lock | None) -> Frame | None:
        return None if lock else Frame(slug, cursor, f"unlock-{question.pk}", partial(_card, question, None))

    return FrameByStanding(partial(locks.lock_on, question), make)


def _question_frames(
    question: Question, slug: str, revision: int, current: int, corrections: Collection[Message]
) -> Iterator[AnyFrame]:
    """First the frame that replaces a card on the page, then the one that adds a missing card."""
    # A cursor must not be ahead of what was read: a page that reconnects with it would miss the rest.
    cursor = min(question.revision, current)
    if max(question.settled_position or 0, question.turned_position or 0) <= revision:
        if question.is_open and question.was_escalated and (question.care or {}).get("first"):
            # Before the marks, which have the same revision.
            yield _unlock_frame(question, slug, cursor)
        yield _marks_frame(question, slug, cursor)
        # Also an empty list: what a page shows was deleted.
        if question.is_open and question.memories is not None:
            yield Frame(slug, cursor, f"memory-{question.pk}", lambda is_mine: render_memory(question))
    else:
        yield _card_frame(question, slug, cursor, f"card-{question.pk}", corrections)
    if question.position > revision:
        # Not "open": an EventSource has an event of that name already.
        yield _card_frame(question, slug, cursor, "question" if question.is_open else "entry", corrections)
