"""The full-text index of the history: what stands in it for a question, and how it is asked.

An entry has three kinds of words in one index of the database: those of its text; labels, which make a word
of every filter; and those of `memory.py` that similar questions share. So any combination of words and
filters is one look into the index, which finds what is rare as quickly as what is everywhere.

Ids of entries follow the time of their end: "newest first" is the order of SQLite's index itself. That of
PostgreSQL has no order and would give hundreds of thousands for the newest thirty. So what was settled last
is looked through there first, and the index is asked only for what is rare in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connections, models
from django.utils.translation import gettext_lazy as _

from rooms.db.transactions import alias
from rooms.history.tokenizer import words_of
from rooms.models import HistoryEntry, Question

# Up to so many rooms are looked for in the index; who sees more sees a good part of what there is.
MOST_ROOM_LABELS = 64
# So many of the newest entries PostgreSQL looks through first, in some three milliseconds.
RECENT = 2_000

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Entries of one microsecond differ in the rest of their ids.
IDS_PER_MICROSECOND = 1024
# Of any database: reached in the year 2255, while anybody can look for a day after it.
LARGEST_ID = 2**63 - 1

ENTRIES = HistoryEntry._meta.db_table
# Of SQLite; PostgreSQL has the column `search`.
INDEX = "ask_bridge_historyindex"


class State(models.TextChoices):
    """How a question ended, as people see it."""

    ANSWERED = "answered", _("Answered")
    SKIPPED = "skipped", _("Skipped")
    ASKED_BACK = "asked-back", _("Asked back")
    EXPIRED = "expired", _("Expired")
    WITHDRAWN = "withdrawn", _("Withdrawn")


# ---- what stands in it -----------------------------------------------------------------------------------


def first_id_at(moment: datetime) -> int:
    """The smallest id that an entry can have that was settled then."""
    return (moment - EPOCH) // timedelta(microseconds=1) * IDS_PER_MICROSECOND


def text_of(question: Question) -> str:
    """Everything that somebody may remember of a question, as plain words."""
    answer = question.answer_or_none
    parts = [question.agent_name, question.context.get("text", "")]
    for prompt in question.prompts:
        parts += prompt["question"], prompt.get("header", "")
        for option in prompt["options"]:
            parts += option["label"], option.get("description", "")
    if answer:
        parts += answer.person_name, answer.reason
        for choice in answer.choices:
            parts += *choice["selectedOptions"], choice.get("customInput") or "", choice.get("notes") or ""
    return " ".join(word for part in parts for word in words_of(part))


def labels_of(question: Question) -> str:
    """Where and how it ended, and the names of whom it concerned: words that nobody writes."""
    answer = question.answer_or_none
    people = words_of(answer.person_name) if answer else []
    return " ".join(
        [
            room_label(question.room_id),
            state_label(state_of(question)),
            *map(person_label, people),
            *map(agent_label, words_of(question.agent_name)),
        ]
    )


def state_of(question: Question) -> State:
    if question.status != Question.Status.DECLINED:
        return State(question.status)
    answer = question.answer_or_none
    return State.ASKED_BACK if answer and answer.asks_back else State.SKIPPED


def room_label(room_id: int) -> str:
    return f"zzr{room_id}"


def state_label(state: State) -> str:
    return f"zzs{state.replace('-', '')}"


def person_label(word: str) -> str:
    return f"zzp{word}"


def agent_label(word: str) -> str:
    return f"zza{word}"


# ---- how it is asked -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Term:
    """Words in a row; the last may be only the beginning of one."""

    words: tuple[str, ...]
    is_prefix: bool = False


@dataclass(frozen=True)
class Look:
    """Entries of these rooms that have all words and labels, and one of the words of likeness if any."""

    room_ids: Sequence[int]
    words: Sequence[Term] = ()
    labels: Sequence[Term] = ()
    likeness: Sequence[str] = ()
    # Ids of the oldest and the newest entry that count.
    oldest: int | None = None
    newest: int | None = None

    def first(self, limit: int) -> list[tuple[int, str]]:
        """Ids of the newest entries and of their questions."""
        statements = self._statements()
        return _rows(statements.newest, {**statements.values, "limit": limit})

    def count(self, most: int) -> int:
        """How many there are; one more than `most` for all that is more."""
        statements = self._statements()
        counted = f"SELECT COUNT(*) FROM ({statements.found} LIMIT %(limit)s) AS counted"  # noqa: S608 - names of ours
        return _rows(counted, {**statements.values, "limit": most + 1})[0][0]

    def _statements(self) -> "Statements":
        is_postgres = connections[alias()].vendor == "postgresql"
        return _in_postgres(self) if is_postgres else _in_sqlite(self)

    @property
    def room_labels(self) -> list[str]:
        """For the index; none if there are too many of them."""
        return [*map(room_label, self.room_ids)] if len(self.room_ids) <= MOST_ROOM_LABELS else []

    @property
    def in_rooms(self) -> str:
        """Whatever the index says: nothing of any other room."""
        return f"room_id IN ({', '.join(map(str, self.room_ids))})"

    def in_span(self, key: str, oldest: str = "oldest", newest: str = "newest") -> str:
        bounds = [f"{key} >= %({oldest})s"] if self.oldest is not None else []
        bounds += [f"{key} <= %({newest})s"] if self.newest is not None else []
        return " AND ".join(bounds) or "TRUE"


@dataclass(frozen=True)
class Statements:
    """A look in the words of a database: all that it finds, and the newest of it."""

    found: str
    newest: str
    values: dict[str, Any]


def _in_sqlite(look: Look) -> Statements:
    def phrase(column: str, term: Term) -> str:
        return f'{column} : "{" ".join(term.words)}"{"*" * term.is_prefix}'

    needed = [phrase("text", term) for term in look.words]
    needed += [phrase("labels", term) for term in look.labels]
    if look.room_labels:
        needed.append(f"labels : ({' OR '.join(look.room_labels)})")
    if look.likeness:
        needed.append(f"likeness : ({' OR '.join(look.likeness)})")
    source, key = f"{ENTRIES} WHERE", "id"
    if needed:
        # In this order: the index is asked first, and gives its rows from the newest on.
        key = f"{INDEX}.rowid"
        source = f"{INDEX} CROSS JOIN {ENTRIES} ON {ENTRIES}.id = {key} WHERE {INDEX} MATCH %(query)s AND"
    found = f"SELECT id, question_id FROM {source} {look.in_rooms} AND {look.in_span(key)}"  # noqa: S608 - names of ours
    values = {"query": " AND ".join(needed), "oldest": look.oldest, "newest": look.newest}
    return Statements(found, f"{found} ORDER BY {key} DESC LIMIT %(limit)s", values)


def _in_postgres(look: Look) -> Statements:
    def phrase(term: Term) -> str:
        return " <-> ".join(f"'{word}'" for word in term.words) + ":*" * term.is_prefix

    needed = [f"({phrase(term)})" for term in (*look.words, *look.labels)]
    if look.likeness:
        needed.append(f"({' | '.join(look.likeness)})")
    matches = "search @@ to_tsquery('simple', %(query)s)" if needed else "TRUE"
    if needed and look.room_labels:
        needed.append(f"({' | '.join(look.room_labels)})")
    in_span = look.in_span("id")
    found = f"SELECT id, question_id FROM {ENTRIES} WHERE {matches} AND {look.in_rooms} AND {in_span}"  # noqa: S608 - names of ours
    # Without an order to keep, for which PostgreSQL might go back in time through everything.
    whole = f"{found} OFFSET 0"
    if not needed:
        # Of each room by itself: on one way back in time for all there may be a year of others' entries.
        whole = f"""
            SELECT id, question_id
            FROM unnest(ARRAY[{", ".join(map(str, look.room_ids))}]) AS seen (room_id)
            CROSS JOIN LATERAL (
                SELECT id, question_id FROM {ENTRIES}
                WHERE room_id = seen.room_id AND {in_span} AND {look.in_span("settled_at", "since", "until")}
                ORDER BY settled_at DESC, id DESC LIMIT %(limit)s
            ) AS newest
        """  # noqa: S608
    newest = f"""
        WITH recent AS (
            SELECT id, question_id
            FROM (SELECT * FROM {ENTRIES} WHERE {in_span} ORDER BY id DESC LIMIT {RECENT}) AS latest
            WHERE {matches} AND {look.in_rooms} ORDER BY id DESC LIMIT %(limit)s
        )
        SELECT * FROM recent WHERE (SELECT COUNT(*) FROM recent) = %(limit)s
        UNION ALL
        SELECT * FROM ({whole}) AS whole WHERE (SELECT COUNT(*) FROM recent) < %(limit)s
        ORDER BY id DESC LIMIT %(limit)s
    """  # noqa: S608
    values = {
        **{"query": " & ".join(needed), "oldest": look.oldest, "newest": look.newest},
        **{"since": _moment_of(look.oldest), "until": _moment_of(look.newest)},
    }
    return Statements(found, newest, values)


def _moment_of(entry_id: int | None) -> datetime | None:
    """When it was settled: the other index with the order knows only that."""
    return None if entry_id is None else EPOCH + timedelta(microseconds=entry_id // IDS_PER_MICROSECOND)


def _rows(sql: str, values: dict[str, Any]) -> list[Any]:
    with connections[alias()].cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()
