"""The reader that looks up what was decided before when something is asked, for its card to show."""

import time
from typing import Any

from rooms import lifecycle
from rooms.history.similar import Likeness, memories_for
from rooms.models import HistoryEntry
from rooms.timeline.change_feed import BATCH, STEP_ASIDE_SECONDS, News, news_for

READER = "memory"

# How long one round may go on, each second: enough for some fifty questions.
ROUND_SECONDS = 0.2


def catch_up(seconds: float = ROUND_SECONDS) -> None:
    """Give what was asked in any room its memories, but begin nothing more after so many seconds."""
    end = time.monotonic() + seconds
    for news in news_for(READER):
        _recall(news, end)
        if time.monotonic() >= end:
            return


def _recall(news: News, end: float) -> None:
    # In a room where nothing was decided yet there is nothing to look for.
    has_past = HistoryEntry.objects.filter(room=news.room).exists()
    asked = list(news.asked.only("room_id", "prompts", "position")[:BATCH]) if has_past else []
    read_to = news.room.revision
    found: dict[str, list[dict[str, Any]]] = {}
    # Many agents at once often ask the same: looked for once.
    known: dict[Likeness, list[dict[str, Any]]] = {}
    for number, question in enumerate(asked, start=1):
        likeness = Likeness.of_prompts(question.prompts)
        if likeness not in known:
            known[likeness] = memories_for(question)
            time.sleep(STEP_ASIDE_SECONDS)
        found[question.pk] = known[likeness]
        if number == BATCH or time.monotonic() >= end:
            read_to = question.position  # the next round goes on after it
            break
    # Not in one transaction: whoever clicks meanwhile would wait for all of them. A process that is killed
    # here leaves some cards without what is only a hint.
    if news.take(read_to):
        for question_id, memories in found.items():
            if memories:
                lifecycle.recall(question_id, memories)
