"""Leases of waiting agents: who waits for an open question, and until when that counts without a renewal."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from rooms.db import timezone
from rooms.db.compiled import Select, Update
from rooms.db.transactions import in_batches, writing
from rooms.lifecycle.revisions import LeavingMark, Mark
from rooms.models import Question, QuestionQuerySet

# How long an agent counts as waiting after the last renewal. Open waits renew it every few seconds; a
# killed agent has to show as gone within 30 s, and one between two long-polls must not flicker.
LEASE_SECONDS = 20
# How long an agent counts as waiting between two long-polls. A machine that is cut off without closing its
# connection shows as gone when it does not poll again: with the longest wait of 55 seconds within a minute.
PAUSE_SECONDS = 3
# How long a new question counts as attended before an agent waits for it: more than the few seconds that a
# client takes from its ask to its first wait, so that badges and notifications are not delayed.
GRACE_SECONDS = 45
# A poll or event stream waits for the newest open questions of its key: bounds the cost of a renewal.
QUESTIONS_PER_KEY = 100


def _open(id: str) -> QuestionQuerySet:
    return Question.objects.open().filter(pk=id)


def _waited_for(id: str) -> QuestionQuerySet:
    return _open(id).filter(agent_active=True)


STARTED = Mark(
    lambda id: _open(id).filter(agent_active=False),
    *("agent_active", "is_attended", "closes_at", "waiting_until", "last_seen_at"),
)
RENEWED = Update(_waited_for, "waiting_until", "last_seen_at")
PAUSED = Update(_waited_for, "waiting_until")
ENDED = LeavingMark(_waited_for, "waiting_until")
ASKED_WITH: Select[Any] = Select(
    lambda key: Question.objects.open().filter(key=key).order_by("-asked_at")[:QUESTIONS_PER_KEY], "pk"
)


def wait_started(question_id: str) -> None:
    """Record that an agent waits: it counts as active for LEASE_SECONDS."""
    started = {"agent_active": True, "is_attended": True, "closes_at": None}
    if not STARTED.change(id=question_id, **started, **_lease()):
        with writing():
            RENEWED.run(id=question_id, **_lease())


def wait_paused(question_id: str) -> None:
    """Record that a long-poll ended without a result: the agent should poll again within PAUSE_SECONDS."""
    pause_waits([question_id])


def pause_waits(question_ids: Sequence[str]) -> None:
    """The same for all questions that one agent waits for, in one transaction."""
    if question_ids:
        pause = {"waiting_until": timezone.now() + timedelta(seconds=PAUSE_SECONDS)}
        with writing():
            for question_id in question_ids:
                PAUSED.run(id=question_id, **pause)


def wait_ended(question_id: str) -> None:
    """Record that the agent no longer waits: it ended its wait, or closed its connection."""
    ENDED.change(id=question_id, waiting_until=timezone.now())


def asked_with(key_id: int) -> list[str]:
    """The newest open questions of a key: a poll or event stream with this key waits for them."""
    return [question_id for (question_id,) in ASKED_WITH.all(key=key_id)]


def renew_leases(question_ids: Sequence[str]) -> None:
    """Renew the leases of these questions: one statement per batch, and one for each that had expired."""
    for batch in in_batches(question_ids):
        waiting = Question.objects.open().filter(pk__in=batch)
        with writing():
            waiting.filter(agent_active=True).update(**_lease())
        gone = waiting.filter(agent_active=False).order_by()
        for question_id in gone.values_list("pk", flat=True):
            wait_started(question_id)


def renew_leases_of_key(key_id: int) -> None:
    """An open poll or event stream counts as waiting for the open questions of its key."""
    renew_leases(asked_with(key_id))


def _lease() -> dict[str, datetime]:
    now = timezone.now()
    return {"waiting_until": now + timedelta(seconds=LEASE_SECONDS), "last_seen_at": now}
