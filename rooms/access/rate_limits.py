"""Rate limits: how much a person or an agent may send per minute, counted in the database for all processes.

The limits are far above what a person clicks or types: they stop a broken script, or a stolen login or key.
"""

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django.db.models import Case, F, Q, QuerySet, Value, When

from rooms.conf import setting
from rooms.db import timezone
from rooms.db.compiled import Select, key_of
from rooms.db.fields import MomentField
from rooms.db.transactions import writing
from rooms.lifecycle import Person
from rooms.models import AgentKey, Answer, AuditEntry, Message, Notice, Question

MINUTE = timedelta(minutes=1)


class TooMany(Exception):
    """The limit per minute is reached; the next one is allowed in `seconds`."""

    def __init__(self, limit: int, what: str, seconds: int) -> None:
        super().__init__(f"{limit} {what} within a minute; again in {seconds} seconds")
        self.limit, self.what, self.seconds = limit, what, seconds


Sent = Callable[[int], "Select[tuple[datetime]]"]


def _sent(by: Callable[[Any], QuerySet[Any]], time: str) -> Sent:
    """Returns a function from a limit to the query for the time at which it was reached; no row below it."""

    @cache
    def reached(limit: int) -> "Select[tuple[datetime]]":
        # Uses an index, however much was sent before.
        return Select(
            lambda sender, since: (
                by(sender)
                .filter(**{f"{time}__gt": since})
                .order_by(f"-{time}")
                .values_list(time)[limit - 1 :]
            )
        )

    return reached


QUESTIONS = _sent(lambda key: Question.objects.filter(key=key), "asked_at")
# Test questions, which have no key; one limit for all people together.
TEST_QUESTIONS = _sent(lambda _: Question.objects.filter(key=None), "asked_at")
MESSAGES_OF_AGENT = _sent(lambda key: Message.objects.filter(key=key), "created_at")
ANSWERS = _sent(lambda user: Answer.objects.filter(user=user), "answered_at")
MESSAGES = _sent(lambda user: Message.objects.filter(user=user), "created_at")
TESTS = _sent(lambda user: Notice.objects.filter(user=user, kind=Notice.Kind.TEST), "created_at")
# Votes and undos are not answers, but they are in the audit.
VOTES = _sent(
    lambda name: AuditEntry.objects.filter(
        actor=name,
        actor_type=AuditEntry.ActorType.PERSON,
        action__in=(AuditEntry.Action.VOTED, AuditEntry.Action.UNDONE),
    ),
    "at",
)
ROOMS = _sent(
    lambda name: AuditEntry.objects.filter(
        actor=name, actor_type=AuditEntry.ActorType.PERSON, action=AuditEntry.Action.ROOM_CREATED
    ),
    "at",
)
KEYS = _sent(lambda user: AgentKey.objects.filter(created_by=user), "created_at")


def check_asks(key: AgentKey | None) -> None:
    """Asks of this key; without a key the test questions of all people together."""
    _check(QUESTIONS if key else TEST_QUESTIONS, key and key_of(key), "ASKS_PER_MINUTE", "questions")


def check_refused_names(key: AgentKey) -> None:
    """Called before names are looked up, so that over the limit the response reveals nothing about them."""
    limit, now = setting("REFUSED_NAMES_PER_MINUTE"), timezone.now()
    since = key.refused_names_since
    if limit and since and since > now - MINUTE and key.refused_names >= limit:
        raise TooMany(limit, "names of people whom the room does not know", _seconds_to_wait(since, now))


def note_refused_name(key: AgentKey) -> None:
    """Count a refused name, in the minute that began with the first one."""
    now = timezone.now()
    in_this_minute = Q(refused_names_since__gt=now - MINUTE)
    begins_now = Value(now, MomentField())
    with writing():
        AgentKey.objects.filter(pk=key.pk).update(
            refused_names=Case(When(in_this_minute, then=F("refused_names") + 1), default=1),
            refused_names_since=Case(When(in_this_minute, then=F("refused_names_since")), default=begins_now),
        )


def check_agent_messages(key: AgentKey) -> None:
    _check(MESSAGES_OF_AGENT, key_of(key), "MESSAGES_PER_MINUTE", "messages")


def check_answers(user: Person, question: Question, undo_seconds: int = 0) -> None:
    """Answers, votes, skips and replies. A late one is not counted: it is refused as late."""
    if question.is_open and not question.is_overdue:
        _check(ANSWERS, key_of(user), "ANSWERS_PER_MINUTE", "answers")
        if question.care or question.votes is not None or undo_seconds:
            _check(VOTES, user.get_username(), "ANSWERS_PER_MINUTE", "answers")


def check_messages(user: Person) -> None:
    _check(MESSAGES, key_of(user), "MESSAGES_PER_MINUTE", "messages")


def check_tests(user: Person) -> None:
    """Test notifications."""
    _check(TESTS, key_of(user), "TESTS_PER_MINUTE", "tests")


def check_keys(user: Person) -> None:
    _check(KEYS, key_of(user), "KEYS_PER_MINUTE", "keys")


def check_rooms(user: Person) -> None:
    _check(ROOMS, user.get_username(), "ROOMS_PER_MINUTE", "rooms")


def _check(sent: Sent, sender: Any, setting_name: str, what: str) -> None:
    limit = setting(setting_name)
    if not limit:
        return
    now = timezone.now()
    found = sent(limit).first(sender=sender, since=now - MINUTE)
    if found:
        (reached_at,) = found
        raise TooMany(limit, what, _seconds_to_wait(reached_at, now))


def _seconds_to_wait(since: datetime, now: datetime) -> int:
    """Seconds until the minute that began at `since` is over."""
    return max(1, math.ceil((since + MINUTE - now).total_seconds()))
