"""Settled questions with their entries in the history, as many as a test wants and of any time."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from rooms.lifecycle import name_of
from rooms.models import HistoryEntry, Question, Room

AGENTS = ("refactor-bot", "release-agent", "night-job")
# How a question ends: its status, over what, and whether somebody asks back; and how often in a hundred.
ENDINGS = {
    ("answered", "web", False): 60,
    ("answered", "terminal", False): 8,
    ("answered", "api", False): 4,
    ("declined", "web", False): 8,
    ("declined", "web", True): 6,
    ("expired", "", False): 5,
    ("expired", "default", False): 4,
    ("withdrawn", "", False): 5,
}


def entry(room: Room, settled_at: datetime, seconds: float = 60.0, **fields: Any) -> HistoryEntry:
    """One of them, not stored yet: answered on a page, unless told otherwise."""
    named: dict[str, Any] = {"status": "answered", "via": "web", "agent_name": AGENTS[0], **fields}
    asked_at = settled_at - timedelta(seconds=seconds)
    question = Question(
        room=room,
        agent_name=named["agent_name"],
        agent_color="#818cf8",
        body_hash="",
        prompts=[{"question": "Go on?", "options": []}],
        status=named["status"],
        asked_at=asked_at,
        settled_at=settled_at,
        position=0,
        # Before the first change of the room: whoever follows those has nothing to add.
        revision=0,
    )
    named = {"blocked_seconds": seconds, "text": "Go on?", **named}
    return HistoryEntry(
        question=question, room=room, asked_at=asked_at, settled_at=settled_at, seconds=seconds, **named
    )


def store(entries: Iterable[HistoryEntry]) -> list[HistoryEntry]:
    entries = list(entries)
    # Each before anything that really happened in the room.
    least = min([0, *Question.objects.values_list("position", flat=True)])
    for number, each in enumerate(entries, 1):
        each.question.position = least - number
    Question.objects.bulk_create(each.question for each in entries)
    return HistoryEntry.objects.bulk_create(entries)


def random_entries(
    rooms: list[Room], people: list[Any], count: int, since: datetime, until: datetime, random: Random
) -> list[HistoryEntry]:
    """All kinds of ends, at any time in between."""
    # Sums of local times would name hours that the clocks skipped.
    since, until = since.astimezone(UTC), until.astimezone(UTC)
    entries = []
    for _ in range(count):
        ((status, via, asks_back),) = random.choices(list(ENDINGS), list(ENDINGS.values()))
        person = random.choice(people) if via == "web" else None
        seconds = random.lognormvariate(5, 2)
        entries.append(
            entry(
                random.choice(rooms),
                since + (until - since) * random.random(),
                seconds,
                status=status,
                via=via,
                asks_back=asks_back,
                agent_name=random.choice(AGENTS),
                user=person,
                person_name=name_of(person) if person else "",
                blocked_seconds=seconds * random.random(),
            )
        )
    return entries
