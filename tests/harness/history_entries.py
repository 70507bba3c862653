"""Settled questions with their history entries, in any number and of any time."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from rooms.lifecycle import name_of
from rooms.models import HistoryEntry, Question, Room

AGENTS = ("refactor-bot", "release-agent", "night-job")
# How a question ends (status, channel, whether a person asks back), and how often in a hundred.
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
    """One entry, not stored yet; by default answered on a page."""
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
        # Before the first change of the room: the history writer has nothing to add.
        revision=0,
    )
    named = {"blocked_seconds": seconds, "text": "Go on?", **named}
    return HistoryEntry(
        question=question, room=room, asked_at=asked_at, settled_at=settled_at, seconds=seconds, **named
    )


def store(entries: Iterable[HistoryEntry]) -> list[HistoryEntry]:
    entries = list(entries)
    # Positions before all real entries of the room.
    least = min([0, *Question.objects.values_list("position", flat=True)])
    for number, each in enumerate(entries, 1):
        each.question.position = least - number
    Question.objects.bulk_create(each.question for each in entries)
    return HistoryEntry.objects.bulk_create(entries)


def random_entries(
    rooms: list[Room], people: list[Any], count: int, since: datetime, until: datetime, random: Random
) -> list[HistoryEntry]:
    """Entries with all kinds of endings, at random times in this period."""
    # In UTC: sums of local times could be in an hour that daylight saving skips.
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
