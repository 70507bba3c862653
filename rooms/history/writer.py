"""The reader that writes the history.

It comes behind by itself, from the oldest question on, so a site that is older than its history gets it all.
"""

import time
from datetime import datetime
from functools import partial
from typing import Any

from django.db import IntegrityError

from rooms.db.compiled import Select
from rooms.history.index import IDS_PER_MICROSECOND, first_id_at, labels_of, text_of
from rooms.history.similar import Likeness, is_worth_remembering
from rooms.models import HistoryEntry, Question
from rooms.timeline.change_feed import changed, news_for

READER = "history"
SETTLED = Select(lambda room, after, to: changed(room, after, to).settled().with_answer())

# How long one round may go on, each second: a hundred thousand old questions take some minutes then, and
# whoever clicks meanwhile has most of the processor.
ROUND_SECONDS = 0.2


def catch_up(seconds: float = ROUND_SECONDS) -> None:
    """Take what is new in any room, but begin nothing more after so many seconds."""
    end = time.monotonic() + seconds
    has_more = True
    while has_more:
        has_more = False
        for news in news_for(READER):
            # What came meanwhile is taken in the next round: in a busy hour there is always something.
            has_more = has_more or news.is_cut
            entries = [_entry_of(question) for question in news.questions(SETTLED)]
            try:
                is_first = news.take(write=partial(_write, entries))
            except IntegrityError:
                # Another process wrote of the same microsecond at the same time, in another room.
                is_first = False
            # Whoever was first may have known of less.
            has_more = has_more or not is_first
            if time.monotonic() >= end:
                return


def _write(entries: list[HistoryEntry]) -> None:
    """Those that are not there yet: what is settled never changes, it is only delivered."""
    question_ids = [entry.question_id for entry in entries]
    there = set(HistoryEntry.objects.filter(question__in=question_ids).values_list("question_id", flat=True))
    new = [entry for entry in entries if entry.question_id not in there]
    _give_ids_of_their_own(new)
    HistoryEntry.objects.bulk_create(new)


def _give_ids_of_their_own(entries: list[HistoryEntry]) -> None:
    """The next free id where another room has settled something in the same microsecond."""
    taken = _ids(pk__in=[entry.pk for entry in entries])
    known: set[int] = set()
    for entry in entries:
        while entry.pk in taken:
            entry.pk += 1
            # Whoever moves may meet anybody of that microsecond; hardly any batch has to ask for one.
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
        blocked_seconds=_seconds(question, _stood_until(question, settled_at)),
        text=text_of(question),
        labels=labels_of(question),
        likeness=_likeness_of(question),
    )


def _likeness_of(question: Question) -> str:
    if not is_worth_remembering(question):
        return ""
    return " ".join(Likeness.of_prompts(question.prompts).words())


def _stood_until(question: Question, settled_at: datetime) -> datetime:
    """Until when an agent stood still for it: to the end, or as long as it was seen, or never."""
    was_waiting = question.agent_active and question.waiting_until and question.waiting_until >= settled_at
    return settled_at if was_waiting else min(question.last_seen_at or question.asked_at, settled_at)


def _seconds(question: Question, until: datetime) -> float:
    # Clocks of several machines may disagree by a moment.
    return max(0.0, (until - question.asked_at).total_seconds())
