"""The full-text index of the history: what stands in it for a question, and how it is asked.

An entry has three kinds of words in one index of the database: those of its text; labels, which make a word
of every filter; and those of `memory.py` that similar questions share. So any combination of words and
filters is one look into the index, which finds what is rare as quickly as what is everywhere.

Ids of entries follow the time of their end: "newest first" is the order of SQLite's index itself, while
PostgreSQL knows how common a word is and either takes its index or goes back in time until a page is full.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connections, models
from django.utils.translation import gettext_lazy as _

from rooms.database import alias
from rooms.models import HistoryEntry, Question
from rooms.words import words_of

# Up to so many rooms are looked for in the index; who sees more sees a good part of what there is.
MOST_ROOM_LABELS = 64

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
        source, order, values = self._source()
        return _rows(f"SELECT id, question_id {source} ORDER BY {order} LIMIT %s", [*values, limit])

    def count(self, most: int) -> int:
        """How many there are; one more than `most` for all that is more."""
        source, _, values = self._source()
        rows = _rows(f"SELECT COUNT(*) FROM (SELECT 1 {source} LIMIT %s) AS counted", [*values, most + 1])  # noqa: S608 - names of ours
        return rows[0][0]

    def _source(self) -> tuple[str, str, list[Any]]:
        """FROM … WHERE …, what it is ordered by, and the values in it."""
        is_postgres = connections[alias()].vendor == "postgresql"
        source, key, conditions = self._in_postgres() if is_postgres else self._in_sqlite()
        # Whatever the index says: nothing of any other room.
        conditions += [(f"room_id IN ({', '.join(['%s'] * len(self.room_ids))})", [*self.room_ids])]
        for sign, bound in ((">=", self.oldest), ("<=", self.newest)):
            if bound is not None:
                conditions.append((f"{key} {sign} %s", [bound]))
                if is_postgres:
                    # The same once more, for the index that has the order.
                    moment = EPOCH + timedelta(microseconds=bound // IDS_PER_MICROSECOND)
                    conditions.append((f"settled_at {sign} %s", [moment]))
        where = " AND ".join(condition for condition, _ in conditions)
        order = "settled_at DESC, id DESC" if is_postgres else f"{key} DESC"
        return f"FROM {source} WHERE {where}", order, [value for _, given in conditions for value in given]

    def _in_postgres(self) -> tuple[str, str, list[tuple[str, list[Any]]]]:
        def phrase(term: Term) -> str:
            return " <-> ".join(f"'{word}'" for word in term.words) + ":*" * term.is_prefix

        needed = [f"({phrase(term)})" for term in (*self.words, *self.labels)]
        if self.likeness:
            needed.append(f"({' | '.join(self.likeness)})")
        query = " & ".join(needed)
        return ENTRIES, "id", [("search @@ to_tsquery('simple', %s)", [query])] if query else []

    def _in_sqlite(self) -> tuple[str, str, list[tuple[str, list[Any]]]]:
        def phrase(column: str, term: Term) -> str:
            return f'{column} : "{" ".join(term.words)}"{"*" * term.is_prefix}'

        needed = [phrase("text", term) for term in self.words]
        needed += [phrase("labels", term) for term in self.labels]
        if len(self.room_ids) <= MOST_ROOM_LABELS:
            needed.append(f"labels : ({' OR '.join(map(room_label, self.room_ids))})")
        if self.likeness:
            needed.append(f"likeness : ({' OR '.join(self.likeness)})")
        if not needed:
            return ENTRIES, "id", []
        # In this order: the index is asked first, and gives its rows from the newest on.
        source = f"{INDEX} CROSS JOIN {ENTRIES} ON {ENTRIES}.id = {INDEX}.rowid"
        return source, f"{INDEX}.rowid", [(f"{INDEX} MATCH %s", [" AND ".join(needed)])]


def _rows(sql: str, values: list[Any]) -> list[Any]:
    with connections[alias()].cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()
