"""Queries of the full-text index of the history: SQLite (FTS5), PostgreSQL (tsvector), MariaDB (FULLTEXT).

SQLite's index returns its rows in the order of ids, so the newest come first. PostgreSQL's has no order: the
newest thirty of a frequent word would need sorting hundreds of thousands of rows. So there the most recent
entries are filtered first, and the index is used only if they do not suffice.

FULLTEXT leaves out short words, common English ones, and letters that the database does not know. So words
are stored with a prefix, and such letters as code points: see `indexed`. It does not know phrases that end
with a prefix: their words are found with it, and compared with the text then. It has no order either.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from unicodedata import ucd_3_2_0

from django.db import connections

from rooms.db.transactions import alias
from rooms.history.index import EPOCH, IDS_PER_MICROSECOND, room_label
from rooms.models import HistoryEntry

# Up to so many rooms are part of the index lookup. A person who sees more rooms sees most entries anyway.
MOST_ROOM_LABELS = 64
# Makes every word at least as long as FULLTEXT's shortest (three letters), and none of them common English.
MARIADB_PREFIX = "zx"
# Longer words are not in the index (innodb_ft_max_token_size).
MARIADB_LENGTH = 84
# Letters since Unicode 3.2, and those outside of the Basic Multilingual Plane, are unknown to some versions.
LAST_OF_BMP = 0xFFFF
# PostgreSQL filters so many of the newest entries first, in about three milliseconds.
RECENT = 2_000

ENTRIES = HistoryEntry._meta.db_table
# Of SQLite; PostgreSQL has the column `search`.
INDEX = "ask_bridge_historyindex"


@dataclass(frozen=True)
class Term:
    """A phrase: consecutive words, of which the last may be a prefix."""

    words: tuple[str, ...]
    is_prefix: bool = False


@dataclass(frozen=True)
class IndexQuery:
    """Entries of these rooms with all words and labels, and with any of the similarity words if given."""

    room_ids: Sequence[int]
    words: Sequence[Term] = ()
    labels: Sequence[Term] = ()
    similarity_words: Sequence[str] = ()
    # Inclusive bounds of entry ids.
    oldest: int | None = None
    newest: int | None = None

    def newest_entries(self, limit: int) -> list[tuple[int, str]]:
        """Ids of entries and of their questions, newest first."""
        statements = self._statements()
        return _rows(statements.newest, {**statements.values, "limit": limit})

    def count(self, most: int) -> int:
        """How many there are; `most` + 1 if there are more than `most`."""
        statements = self._statements()
        counted = f"SELECT COUNT(*) FROM ({statements.found} LIMIT %(limit)s) AS counted"  # noqa: S608 - constants
        return _rows(counted, {**statements.values, "limit": most + 1})[0][0]

    def _statements(self) -> "Statements":
        by_vendor = {"postgresql": _in_postgres, "mysql": _in_mariadb}
        return by_vendor.get(connections[alias()].vendor, _in_sqlite)(self)

    @property
    def room_labels(self) -> list[str]:
        """Labels of the rooms for the index lookup; none if there are too many."""
        return [*map(room_label, self.room_ids)] if len(self.room_ids) <= MOST_ROOM_LABELS else []

    @property
    def in_rooms(self) -> str:
        """SQL that enforces the rooms even if the index returns others; without removed questions."""
        return f"question_id IS NOT NULL AND room_id IN ({', '.join(map(str, self.room_ids))})"

    def in_span(self, key: str, oldest: str = "oldest", newest: str = "newest") -> str:
        bounds = [f"{key} >= %({oldest})s"] if self.oldest is not None else []
        bounds += [f"{key} <= %({newest})s"] if self.newest is not None else []
        return " AND ".join(bounds) or "TRUE"


@dataclass(frozen=True)
class Statements:
    """SQL of a query for one database: all that it finds, and the newest of them."""

    found: str
    newest: str
    values: dict[str, Any]


def _in_sqlite(query: IndexQuery) -> Statements:
    def phrase(column: str, term: Term) -> str:
        return f'{column} : "{" ".join(term.words)}"{"*" * term.is_prefix}'

    needed = [phrase("text", term) for term in query.words]
    needed += [phrase("labels", term) for term in query.labels]
    if query.room_labels:
        needed.append(f"labels : ({' OR '.join(query.room_labels)})")
    if query.similarity_words:
        needed.append(f"likeness : ({' OR '.join(query.similarity_words)})")
    source, key = f"{ENTRIES} WHERE", "id"
    if needed:
        # CROSS JOIN keeps this order: the index is read first, and returns the newest rows first.
        key = f"{INDEX}.rowid"
        source = f"{INDEX} CROSS JOIN {ENTRIES} ON {ENTRIES}.id = {key} WHERE {INDEX} MATCH %(query)s AND"
    found = f"SELECT id, question_id FROM {source} {query.in_rooms} AND {query.in_span(key)}"  # noqa: S608 - constants
    values = {"query": " AND ".join(needed), "oldest": query.oldest, "newest": query.newest}
    return Statements(found, f"{found} ORDER BY {key} DESC LIMIT %(limit)s", values)


def _in_postgres(query: IndexQuery) -> Statements:
    def phrase(term: Term) -> str:
        return " <-> ".join(f"'{word}'" for word in term.words) + ":*" * term.is_prefix

    needed = [f"({phrase(term)})" for term in (*query.words, *query.labels)]
    if query.similarity_words:
        needed.append(f"({' | '.join(query.similarity_words)})")
    matches = "search @@ to_tsquery('simple', %(query)s)" if needed else "TRUE"
    if needed and query.room_labels:
        needed.append(f"({' | '.join(query.room_labels)})")
    in_span = query.in_span("id")
    found = f"SELECT id, question_id FROM {ENTRIES} WHERE {matches} AND {query.in_rooms} AND {in_span}"  # noqa: S608 - constants
    # OFFSET 0 hides the outer ORDER BY, for which PostgreSQL might scan all entries from the newest on.
    whole = f"{found} OFFSET 0"
    if not needed:
        # Each room separately: one scan for all might read a year of entries of other rooms.
        whole = f"""
            SELECT id, question_id
            FROM unnest(ARRAY[{", ".join(map(str, query.room_ids))}]) AS seen (room_id)
            CROSS JOIN LATERAL (
                SELECT id, question_id FROM {ENTRIES}
                WHERE room_id = seen.room_id AND question_id IS NOT NULL
                AND {in_span} AND {query.in_span("settled_at", "since", "until")}
                ORDER BY settled_at DESC, id DESC LIMIT %(limit)s
            ) AS newest
        """  # noqa: S608
    newest = f"""
        WITH recent AS (
            SELECT id, question_id
            FROM (SELECT * FROM {ENTRIES} WHERE {in_span} ORDER BY id DESC LIMIT {RECENT}) AS latest
            WHERE {matches} AND {query.in_rooms} ORDER BY id DESC LIMIT %(limit)s
        )
        SELECT * FROM recent WHERE (SELECT COUNT(*) FROM recent) = %(limit)s
        UNION ALL
        SELECT * FROM ({whole}) AS whole WHERE (SELECT COUNT(*) FROM recent) < %(limit)s
        ORDER BY id DESC LIMIT %(limit)s
    """  # noqa: S608
    values = {
        **{"query": " & ".join(needed), "oldest": query.oldest, "newest": query.newest},
        **{"since": _moment_of(query.oldest), "until": _moment_of(query.newest)},
    }
    return Statements(found, newest, values)


def _in_mariadb(query: IndexQuery) -> Statements:
    needed, phrases = [], []
    for words, column in ((query.words, "text"), (query.labels, "labels")):
        for term in words:
            stored = [_stored(word) for word in term.words]
            needed += [f"+{word}" for word in stored[:-1]] + [f"+{stored[-1]}{'*' * term.is_prefix}"]
            if len(stored) > 1:
                phrases.append((column, f"% {' '.join(stored)}{'' if term.is_prefix else ' '}%"))
    if query.similarity_words:
        needed.append(f"+({' '.join(query.similarity_words)})")
    conditions = [query.in_rooms, query.in_span("id")]
    if needed:
        conditions.insert(0, "MATCH (text, labels, likeness) AGAINST (%(query)s IN BOOLEAN MODE)")
    for number, (column, _) in enumerate(phrases):
        conditions.append(f"CONCAT(' ', {column}, ' ') LIKE %(phrase{number})s")
    found = f"SELECT id, question_id FROM {ENTRIES} WHERE {' AND '.join(conditions)}"  # noqa: S608 - constants
    values = {"query": " ".join(needed), "oldest": query.oldest, "newest": query.newest}
    values |= {f"phrase{number}": phrase for number, (_, phrase) in enumerate(phrases)}
    return Statements(found, f"{found} ORDER BY id DESC LIMIT %(limit)s", values)


def indexed(words: str) -> str:
    """Words, with spaces between, as the index of this database stores them."""
    if connections[alias()].vendor != "mysql":
        return words
    return " ".join(map(_stored, words.split(" "))) if words else ""


def _stored(word: str) -> str:
    """A word for FULLTEXT: long enough, in no list of common words, and of letters that it knows."""
    known = word if word.isascii() else "".join(map(_known_letter, word))
    return f"{MARIADB_PREFIX}{known}"[:MARIADB_LENGTH]


def _known_letter(letter: str) -> str:
    is_known = ord(letter) <= LAST_OF_BMP and ucd_3_2_0.category(letter)[0] in "LN"
    return letter if is_known else f"u{ord(letter):x}"


def _moment_of(entry_id: int | None) -> datetime | None:
    """When an entry was settled: the ordered index on rooms contains this instead of the id."""
    return None if entry_id is None else EPOCH + timedelta(microseconds=entry_id // IDS_PER_MICROSECOND)


def _rows(sql: str, values: dict[str, Any]) -> list[Any]:
    with connections[alias()].cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()
