"""A room's questions, answers, endings and messages in one order: the order in which they were committed.

Each has a `position`, the room's revision at which it came to be, so four short index reads merge into a
page of the timeline however long the room's past is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rooms.db.compiled import Select
from rooms.models import Answer, Ending, Message, Question, Room

Entry = Question | Answer | Ending | Message

# After so many missed changes a page is quicker to load anew than to repair.
REPLAY_LIMIT = 300

# What every change of a room that somebody watches begins with.
CHANGED_QUESTIONS = Select(
    lambda room, revision: (
        Question.objects.with_answer()
        .filter(room=room, revision__gt=revision)
        .order_by("revision")[: REPLAY_LIMIT + 1]
    )
)
NEW_MESSAGES = Select(
    lambda room, after, until: Message.objects.filter(
        room=room, position__gt=after, position__lte=until
    ).order_by("position")[: REPLAY_LIMIT + 1]
)


class UnknownEntry(LookupError):
    """No entry of this room has that id."""


@dataclass(frozen=True)
class Changes:
    """What changed in a room after some revision, as it is now."""

    questions: list[Question]
    messages: list[Message]


# The bookmark before the first entry, for whoever begins to listen in an empty room.
START = "start"


def last_entry(room: Room) -> tuple[str, int]:
    """Id and position of the newest entry, or the start."""
    newest = [
        model.objects.filter(room=room).order_by("-position").values_list("pk", "position").first()
        for model in (Question, Answer, Ending, Message)
    ]
    return max(filter(None, newest), key=lambda entry: entry[1], default=(START, 0))


def position_of(room: Room, entry_id: str) -> int:
    """Where an entry stands, by its id."""
    if entry_id == START:
        return 0
    models: dict[str, type[Entry]] = {"q_": Question, "a_": Answer, "x_": Ending, "m_": Message}
    # PostgreSQL takes no NUL, not even to look for it.
    model: Any = None if "\x00" in entry_id else models.get(entry_id[:2])
    position = (
        model and model.objects.filter(room=room, pk=entry_id).values_list("position", flat=True).first()
    )
    if not position:
        raise UnknownEntry(entry_id)
    return position


def entries_after(room: Room, position: int, limit: int) -> list[Entry]:
    """Oldest first: what agents read, answers and endings included."""
    after = {"room": room, "position__gt": position, "position__lte": _revision_of(room.pk)}
    entries: list[Entry] = [
        *Question.objects.with_answer().filter(**after).order_by("position")[:limit],
        *Answer.objects.select_related("question").filter(**after).order_by("position")[:limit],
        *Ending.objects.select_related("question").filter(**after).order_by("position")[:limit],
        *Message.objects.filter(**after).order_by("position")[:limit],
    ]
    return sorted(entries, key=lambda entry: entry.position)[:limit]


def results_for(key_id: int, entries: Sequence[Entry]) -> list[str]:
    """The questions of this key whose results are among the entries, as far as they are not delivered yet."""
    responses = [entry.question for entry in entries if isinstance(entry, Answer | Ending)]
    return [
        question.pk for question in responses if question.key_id == key_id and question.delivered_at is None
    ]


def page_before(
    room: Room, position: int | None, revision: int, limit: int
) -> tuple[list[Question | Message], int | None]:
    """Newest first, what a page shows below its open questions, and where the next page begins.

    What was settled after `revision` stands among the open questions of that page and is left out here.
    """
    before = {"room": room, **({} if position is None else {"position__lt": position})}
    settled = Question.objects.with_answer().filter(**before, settled_position__lte=revision)
    entries: list[Question | Message] = [
        *settled.order_by("-position")[: limit + 1],
        *Message.objects.filter(**before).order_by("-position")[: limit + 1],
    ]
    entries.sort(key=lambda entry: entry.position, reverse=True)
    shown = entries[:limit]
    return shown, shown[-1].position if len(entries) > limit else None


def _revision_of(room_id: int) -> int:
    """Read before the entries: what has this revision or an earlier one is there for every later read.

    Commits go on between the reads, so whatever is newer has to wait for the next look. Else a cursor
    would jump over a message that came after the messages were read and before the questions were.
    """
    return Room.objects.values_list("revision", flat=True).get(pk=room_id)


def changes_after(room: Room, revision: int) -> Changes | None:
    """Everything that changed later, up to the revision at which the room was read; None for too much of it,
    or for a revision that is yet to come."""
    if revision > room.revision:
        return None
    if revision == room.revision:
        return Changes([], [])
    # Not capped: a question that changes between the two reads has only its newest revision, and left out
    # now it would not be new any more the next time.
    changes = Changes(
        CHANGED_QUESTIONS.all(room=room.pk, revision=revision),
        NEW_MESSAGES.all(room=room.pk, after=revision, until=room.revision),
    )
    return changes if len(changes.questions) + len(changes.messages) <= REPLAY_LIMIT else None


def in_groups(entries: Sequence[Question | Message]) -> list[list[Question | Message]]:
    """Neighbouring log lines of one sender together, everything else on its own."""

    def group(entry: Question | Message) -> object:
        is_log = isinstance(entry, Message) and entry.kind == Message.Kind.LOG
        return ("log", entry.sender) if is_log and isinstance(entry, Message) else entry.pk

    return [list(neighbours) for _, neighbours in groupby(entries, key=group)]
