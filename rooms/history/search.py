"""Search of the history: words and filters, results newest first, page by page."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date, datetime, time, timedelta, tzinfo
from functools import cached_property
from typing import Any

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from rooms.db import timezone
from rooms.history.index import (
    EPOCH,
    LARGEST_ID,
    State,
    agent_label,
    first_id_at,
    person_label,
    state_label,
)
from rooms.history.index_query import IndexQuery, Term
from rooms.history.tokenizer import WORD, fold, words_of
from rooms.models import Question, Room

# More than a person types, and few enough that no search takes long.
LONGEST_TEXT = 200
MOST_WORDS = 12
# A single letter is the prefix of too many words.
SHORTEST_PREFIX = 2
# A larger number of results is not counted exactly: an exact number would not help.
COUNTED = 1_000

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Search:
    """Words and filters of a search. Invalid input is ignored, never an error."""

    q: str = ""
    room: str = ""
    state: str = ""
    agent: str = ""
    person: str = ""
    since: date | None = None
    until: date | None = None
    # Where the days begin. Kept here, because a file is written after the view has returned.
    zone: tzinfo = field(default_factory=timezone.get_current_timezone)

    @classmethod
    def read(cls, given: Mapping[str, str]) -> "Search":
        """From the query string; an invalid day or state is ignored."""
        texts: dict[str, Any] = {
            name: given.get(name, "").replace("\x00", " ").strip()[:LONGEST_TEXT]
            for name in ("q", "room", "agent", "person")
        }
        state = given.get("state", "")
        since, until = (_day(given.get(name, "")) for name in ("since", "until"))
        return cls(**texts, state=state if state in State else "", since=since, until=until)

    def as_parameters(self) -> dict[str, str]:
        """For the query string; another reader of the address has another zone."""
        named = {part.name: getattr(self, part.name) for part in fields(self) if part.name != "zone"}
        return {name: str(value) for name, value in named.items() if value}

    @property
    def filter_count(self) -> int:
        return len(self.as_parameters().keys() - {"q"})

    @cached_property
    def terms(self) -> list[Term]:
        """Single words as prefixes, "words in quotes" as exact phrases."""
        pieces = re.findall(r'"([^"]*)"|([^\s"]+)', re.sub("[„“”«»]", '"', self.q))
        found = [(words_of(phrase or piece), bool(piece)) for phrase, piece in pieces]
        return [
            Term(tuple(words), is_prefix=is_piece and len(words[-1]) >= SHORTEST_PREFIX)
            for words, is_piece in found[:MOST_WORDS]
            if words
        ]

    def index_query(self, rooms: Sequence[Room], before: int | None = None) -> IndexQuery | None:
        """The query for the index; None if nothing can be found."""
        people, agents = words_of(self.person)[:MOST_WORDS], words_of(self.agent)[:MOST_WORDS]
        room_ids = [room.pk for room in rooms if self.room in ("", room.slug)]
        # Text without any word, such as punctuation, matches nothing.
        has_no_words = (self.q and not self.terms) or (self.person and not people)
        if has_no_words or (self.agent and not agents) or not room_ids:
            return None
        labels = [*map(person_label, people), *map(agent_label, agents)]
        state = [Term((state_label(State(self.state)),))] if self.state else []
        newest = [before - 1] if before else []
        if self.until and self.until < date.max:
            newest.append(self._first_id_of(self.until + DAY) - 1)
        return IndexQuery(
            room_ids,
            self.terms,
            [*(Term((label,), is_prefix=True) for label in labels), *state],
            oldest=self._first_id_of(self.since) if self.since else None,
            newest=min(newest, default=None),
        )

    def _first_id_of(self, day: date) -> int:
        if day <= EPOCH.date() + DAY:
            return 0
        return min(first_id_at(datetime.combine(day, time.min, tzinfo=self.zone)), LARGEST_ID)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


# ---- results ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """Questions with their answers, and `before` for the next page."""

    questions: list[Question]
    next_before: int | None


def find(search: Search, rooms: Sequence[Room], limit: int, before: int | None = None) -> Found:
    """Results in these rooms that are older than the entry `before`, in two queries."""
    query = search.index_query(rooms, before)
    rows = query.newest_entries(limit + 1) if query else []
    shown = rows[:limit]
    by_id = Question.objects.with_answer().in_bulk([question_id for _, question_id in shown])
    # A question may be deleted between the two queries.
    questions = [by_id[question_id] for _, question_id in shown if question_id in by_id]
    return Found(questions, shown[-1][0] if len(rows) > limit else None)


def count(search: Search, rooms: Sequence[Room], most: int = COUNTED) -> int:
    """How many there are; `most` + 1 if there are more than `most`."""
    query = search.index_query(rooms)
    return query.count(most) if query else 0


def mark(text: str, terms: Sequence[Term]) -> SafeString:
    """The text as safe HTML, with the searched words in <mark>."""
    whole = {word for term in terms for word in term.words}
    prefixes = tuple(term.words[-1] for term in terms if term.is_prefix)
    parts, end = [], 0
    for match in WORD.finditer(text):
        word = fold(match[0])
        if word in whole or word.startswith(prefixes):
            parts += [escape(text[end : match.start()]), format_html("<mark>{}</mark>", match[0])]
            end = match.end()
    return mark_safe("".join([*parts, escape(text[end:])]))  # noqa: S308 - every part is escaped
