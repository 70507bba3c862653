"""Background reader that writes the history: one entry for each settled question.

It starts with the oldest question, so a site that existed before the history feature gets a complete one.
"""

import time
from collections.abc import Collection
from datetime import datetime
from functools import partial
from typing import Any

from django.db import IntegrityError

from rooms.db.compiled import Select
from rooms.history.index import IDS_PER_MICROSECOND, first_id_at, labels_of, text_of
from rooms.history.index_query import indexed
from rooms.history.similar import Fingerprint, is_worth_remembering
from rooms.models import HistoryEntry, Question
from rooms.timeline.change_feed import changed, changes_for

READER = "history"
SETTLED = Select(lambda room, after, to: changed(room, after, to).settled().with_answer())

# The time of each run, once a second: a hundred thousand old questions take some minutes, and requests keep
# most of the CPU.
ROUND_SECONDS = 0.2


def catch_up(seconds: float = ROUND_SECONDS) -> None:
    """Write entries for changes in all rooms; start no further batch after `seconds`."""
    end = time.monotonic() + seconds
    has_more = True
    while has_more:
        has_more = False
        for changes in changes_for(READER):
            # Changes made meanwhile wait for the next round: in a busy hour there are always some.
            has_more = has_more or changes.has_more
            entries = [_entry_of(question) for question in changes.questions(SETTLED)]
            try:
                is_first = changes.commit(write=partial(_write, entries))
            except IntegrityError:
                # Another process wrote an entry of the same microsecond at the same time, in another room.
                is_first = False
            # The process that was first may have read fewer changes.
            has_more = has_more or not is_first
            if time.monotonic() >= end:
                return


def _write(entries: list[HistoryEntry]) -> None:
    """Insert those that do not exist yet. Of later changes only the name of a person is of interest."""
    question_ids = [entry.question_id for entry in entries]
    written = HistoryEntry.objects.filter(question__in=question_ids)
    existing = dict(written.values_list("question_id", "person_name"))
    new = [entry for entry in entries if entry.question_id not in existing]
    _make_ids_unique(new)
    HistoryEntry.objects.bulk_create(new)
    for entry in entries:
        if entry.question_id in existing and existing[entry.question_id] != entry.person_name:
            _rename(entry)


def rewrite(question_ids: Collection[str]) -> None:
    """Write the existing entries of these questions with the names that are in the questions now."""
    for question in Question.objects.settled().with_answer().filter(pk__in=question_ids):
        _rename(_entry_of(question))


def _rename(entry: HistoryEntry) -> None:
    named = {name: getattr(entry, name) for name in ("user_id", "person_name", "text", "labels")}
    HistoryEntry.objects.filter(question=entry.question_id).update(**named)


def _make_ids_unique(entries: list[HistoryEntry]) -> None:
    """Use the next free id where another room settled a question in the same microsecond."""
    taken = _ids(pk__in=[entry.pk for entry in entries])
    known: set[int] = set()
    for entry in entries:
        while entry.pk in taken:
            entry.pk += 1
            # A moved id may collide with any other of that microsecond. Few batches need this query.
            first = entry.pk - entry.pk % IDS_PER_MICROSECOND
            if first not in known:
                known.add(first)
                taken |= _ids(pk__gte=first, pk__lt=first + IDS_PER_MICROSECOND)
        taken.add(entry.pk)


def _ids(**condition: Any) -> set[int]:
    return set(HistoryEntry.objects.filter(**condition).values_list("pk", flat=True))


def _entry_of(question: Question) -> HistoryEntry:
    answer = question.answer_or_none
    settled_at = question.settled_at or question.asked_at
    place = (question.settled_position or 0) % IDS_PER_MICROSECOND
    return HistoryEntry(
        id=first_id_at(settled_at) + place,
        question_id=question.pk,
        room_id=question.room_id,
        status=question.status,
        via=answer.via if answer else "",
        asks_back=answer is not None and answer.asks_back,
        agent_name=question.agent_name,
        user_id=answer.user_id if answer else None,
        person_name=answer.person_name if answer else "",
        asked_at=question.asked_at,
        settled_at=settled_at,
        seconds=_seconds(question, settled_at),
        blocked_seconds=_seconds(question, _blocked_until(question, settled_at)),
        text=indexed(text_of(question)),
        labels=indexed(labels_of(question)),
        likeness=_similarity_words(question),
    )


def _similarity_words(question: Question) -> str:
    if not is_worth_remembering(question):
        return ""
    return " ".join(Fingerprint.of_prompts(question.prompts).words())


def _blocked_until(question: Question, settled_at: datetime) -> datetime:
    """Until when an agent waited for it: to the end, until it was last seen, or not at all."""
    was_waiting = question.agent_active and question.waiting_until and question.waiting_until >= settled_at
    return settled_at if was_waiting else min(question.last_seen_at or question.asked_at, settled_at)


def _seconds(question: Question, until: datetime) -> float:
    # Clocks of several machines differ slightly.
    return max(0.0, (until - question.asked_at).total_seconds())
