"""How much one person may send within a minute, counted in the database for all processes together.

Far more than anybody clicks or types: it stops a script that went wrong, or one with a stolen login.
"""

import math
from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from rooms.conf import setting
from rooms.lifecycle import Person
from rooms.models import AgentKey, Answer, Message, Question

MINUTE = timedelta(minutes=1)


class TooMany(Exception):
    """As many as are allowed within a minute; there is room for the next one in `seconds`."""

    def __init__(self, limit: int, seconds: int) -> None:
        super().__init__(f"{limit} within a minute; again in {seconds} seconds")
        self.limit, self.seconds = limit, seconds


def check_answers(user: Person, question: Question) -> None:
    """Answers, skips and replies. What comes too late is refused as late, never as too much."""
    if question.is_open and not question.is_overdue:
        _check(Answer.objects.filter(user=user.pk), "answered_at", setting("ANSWERS_PER_MINUTE"))


def check_messages(user: Person) -> None:
    _check(Message.objects.filter(user=user.pk), "created_at", setting("MESSAGES_PER_MINUTE"))


def check_keys(user: Person) -> None:
    _check(AgentKey.objects.filter(created_by=user.pk), "created_at", setting("KEYS_PER_MINUTE"))


def check_test_questions() -> None:
    """Questions without a key, which nobody's own rate bounds, of all people together."""
    _check(Question.objects.filter(key=None), "asked_at", setting("ASKS_PER_MINUTE"))


def _check(sent: QuerySet[Any], time: str, limit: int) -> None:
    now = timezone.now()
    recent = sent.filter(**{f"{time}__gt": now - MINUTE}).order_by(f"-{time}")
    # When the one leaves the minute that fills it up: found in an index, however much was sent before.
    times = recent.values_list(time, flat=True)[limit - 1 : limit] if limit else ()
    for filled_since in times:
        raise TooMany(limit, max(1, math.ceil((filled_since + MINUTE - now).total_seconds())))
