"""Entries of a room's timeline: questions, answers, endings and messages in the order of their commits.

Each has a `position`, the room's revision at which it was created. So a page of the timeline is merged from
four short index reads, however long the room's history is.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rooms.contract import ids
from rooms.db.compiled import Select
from rooms.models import Answer, Ending, Message, Question, Room

Entry = Question | Answer | Ending | Message

# With more missed changes it is faster to reload the page than to send them.
REPLAY_LIMIT = 300

# The first queries after each change of a room that is open in a browser.
CHANGED_QUESTIONS = Select(
    lambda room, revision: (
        Question.objects.with_answer()
        .filter(room=room, revision__gt=revision)
        .order_by("revision")[: REPLAY_LIMIT + 1]
    )
)
NEW_MESSAGES = Select(
    lambda room, after, until: (
        Message.objects.with_question()
        .filter(room=room, position__gt=after, position__lte=until)
        .order_by("position")[: REPLAY_LIMIT + 1]
    )
)


class UnknownEntry(LookupError):
    """No entry of this room has that id."""


@dataclass(frozen=True)
class Changes:
    """What changed in a room after some revision, as it is now."""

    questions: list[Question]
    messages: list[Message]


# When an entry of each kind was created: its place in the timeline.
TIMES: tuple[tuple[type[Entry], str], ...] = (
    (Question, "asked_at"),
    (Answer, "answered_at"),
    (Ending, "ended_at"),
    (Message, "created_at"),
)

# The cursor before the first entry, for agents that begin to listen in an empty room.
START = "start"


def last_entry(room: Room) -> tuple[str, int]:
    """Id and position of the newest entry, or the start."""
    newest = [
        model.objects.filter(room=room).order_by("-position").values_list("pk", "position").first()
        for model in (Question, Answer, Ending, Message)
    ]
    return max(filter(None, newest), key=lambda entry: entry[1], default=(START, 0))


def position_of(room: Room, entry_id: str) -> int:
    """The position of the entry with this id, or UnknownEntry."""
    if entry_id == START:
        return 0
    models: dict[str, type[Entry]] = {"q_": Question, "a_": Answer, "x_": Ending, "m_": Message}
    # PostgreSQL refuses NUL characters, also in a query.
    model: Any = None if "\x00" in entry_id else models.get(entry_id[:2])
    position = (
        model and model.objects.filter(room=room, pk=entry_id).values_list("position", flat=True).first()
    )
    if not position:
        position = _position_of_removed(room, entry_id) if model else None
    if position is None:
        raise UnknownEntry(entry_id)
    return position


def _position_of_removed(room: Room, entry_id: str) -> int | None:
    """The position before all entries that are younger than this one, which the room no longer keeps.

    An agent that comes back after a long time continues there. None if it is too young to have been removed.
    """
    at = ids.moment_of(entry_id)
    if at is None or room.removed_until is None or at > room.removed_until:
        return None
    firsts = [
        model.objects.filter(room=room, **{f"{field}__gt": at}).order_by("position").values_list("position")
        for model, field in TIMES
    ]
    positions = [position for first in firsts for (position,) in first[:1]]
    return min(positions) - 1 if positions else room.revision


def entries_after(room: Room, position: int, limit: int) -> list[Entry]:
    """Entries for agents, oldest first, answers and endings included."""
    after = {"room": room, "position__gt": position, "position__lte": _revision_of(room.pk)}
    entries: list[Entry] = [
        *Question.objects.with_answer().filter(**after).order_by("position")[:limit],
        *Answer.objects.select_related("question").filter(**after).order_by("position")[:limit],
        *Ending.objects.select_related("question").filter(**after).order_by("position")[:limit],
        *Message.objects.filter(**after).order_by("position")[:limit],
    ]
    return sorted(entries, key=lambda entry: entry.position)[:limit]


def results_for(key_id: int, entries: Sequence[Entry]) -> list[str]:
    """The questions of this key whose results are among the entries and were not delivered before."""
    responses = [entry.question for entry in entries if isinstance(entry, Answer | Ending)]
    return [
        question.pk for question in responses if question.key_id == key_id and question.delivered_at is None
    ]


def page_before(
    room: Room, position: int | None, revision: int, limit: int
) -> tuple[list[Question | Message], int | None]:
    """What a page shows below its open questions, newest first, and where the next page begins.

    Questions that were settled after `revision` are among the open ones of that page, and left out here.
    """
    before = {"room": room, **({} if position is None else {"position__lt": position})}
    settled = Question.objects.with_answer().filter(**before, settled_position__lte=revision)
    entries: list[Question | Message] = [
        *settled.order_by("-position")[: limit + 1],
        *Message.objects.with_question().filter(**before).order_by("-position")[: limit + 1],
    ]
    entries.sort(key=lambda entry: entry.position, reverse=True)
    shown = entries[:limit]
    return shown, shown[-1].position if len(entries) > limit else None


def _revision_of(room_id: int) -> int:
    """The room's revision, read before the entries: all entries up to it are visible to later reads.

    Other transactions commit between the reads, so newer entries have to wait for the next call. Otherwise a
    cursor could skip a message that was committed after the messages were read and before the questions were.
    """
    return Room.objects.values_list("revision", flat=True).get(pk=room_id)


def changes_after(room: Room, revision: int) -> Changes | None:
    """All changes after `revision`, up to the one at which the room was read.

    None if there are more than REPLAY_LIMIT, or if the room does not have this revision yet.
    """
    if revision > room.revision:
        return None
    if revision == room.revision:
        return Changes([], [])
    # Questions are read without an upper bound: a new one that changes between the two reads has only its
    # newest revision, and the next call would not take it for a new one.
    changes = Changes(
        CHANGED_QUESTIONS.all(room=room.pk, revision=revision),
        NEW_MESSAGES.all(room=room.pk, after=revision, until=room.revision),
    )
    return changes if len(changes.questions) + len(changes.messages) <= REPLAY_LIMIT else None


def corrections_of(questions: Sequence[Question]) -> dict[str, list[Message]]:
    """The corrections of these questions by question id, oldest first, in one query."""
    decided = [question.pk for question in questions if not question.is_open or question.is_held]
    found: dict[str, list[Message]] = defaultdict(list)
    if decided:
        for message in Message.objects.filter(question__in=decided).order_by("position"):
            found[str(message.question_id)].append(message)
    return found


def in_groups(entries: Sequence[Question | Message]) -> list[list[Question | Message]]:
    """Groups of neighbouring log lines of one sender; every other entry is a group of its own."""

    def group(entry: Question | Message) -> object:
        is_log = isinstance(entry, Message) and entry.kind == Message.Kind.LOG
        return ("log", entry.sender) if is_log and isinstance(entry, Message) else entry.pk

    return [list(neighbours) for _, neighbours in groupby(entries, key=group)]
