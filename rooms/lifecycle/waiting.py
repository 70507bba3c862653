"""Agents wait, leave, and get what was decided: marks beside the state of a question."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from rooms.database import in_batches, writing
from rooms.lifecycle.changes import Mark
from rooms.models import Question, QuestionQuerySet
from rooms.prepared import Update

# How long an agent counts as waiting after its last sign of life. Held waits renew it every few seconds;
# a killed agent has to show as gone within 30 s, and one between two long-polls must not flicker.
LEASE_SECONDS = 20
# How long an agent counts as waiting between two long-polls. A machine that vanished without a word is known
# only by not coming back: with the longest wait of 55 seconds it shows within a minute.
PAUSE_SECONDS = 3


def _open(id: str) -> QuestionQuerySet:
    return Question.objects.open().filter(pk=id)


def _waited_for(id: str) -> QuestionQuerySet:
    return _open(id).filter(agent_active=True)


STARTED = Mark(
    lambda id: _open(id).filter(agent_active=False), "agent_active", "waiting_until", "last_seen_at"
)
RENEWED = Update(_waited_for, "waiting_until", "last_seen_at")
PAUSED = Update(_waited_for, "waiting_until")
ENDED = Mark(_waited_for, "agent_active", "waiting_until")
DELIVERED = Mark(
    lambda id: Question.objects.filter(pk=id, settled_at__isnull=False, delivered_at=None), "delivered_at"
)
RECALLED = Mark(_open, "memories")


def wait_started(question_id: str) -> None:
    """An agent waits: it is active for the length of a lease."""
    if not STARTED.change(id=question_id, agent_active=True, **_lease()):
        with writing():
            RENEWED.run(id=question_id, **_lease())


def wait_paused(question_id: str) -> None:
    """The agent's wait ran out and was answered: it is expected back at once."""
    with writing():
        PAUSED.run(id=question_id, waiting_until=timezone.now() + timedelta(seconds=PAUSE_SECONDS))


def wait_ended(question_id: str) -> None:
    """The agent stopped waiting, and says so or hung up."""
    ENDED.change(id=question_id, agent_active=False, waiting_until=timezone.now())


def renew_leases(question_ids: Sequence[str]) -> None:
    """Agents still wait for these: a statement for many, and one for each that was marked as gone."""
    for batch in in_batches(question_ids):
        waiting = Question.objects.open().filter(pk__in=batch)
        with writing():
            waiting.filter(agent_active=True).update(**_lease())
        gone = waiting.filter(agent_active=False).order_by()
        for question_id in gone.values_list("pk", flat=True):
            wait_started(question_id)


def deliver(question_id: str) -> None:
    """The result went out to an agent that waited for it."""
    DELIVERED.change(id=question_id, delivered_at=timezone.now())


def recall(question_id: str, memories: list[dict[str, Any]]) -> bool:
    """Earlier answers to very similar questions were found, while it is still open."""
    return RECALLED.change(id=question_id, memories=memories)


def _lease() -> dict[str, datetime]:
    now = timezone.now()
    return {"waiting_until": now + timedelta(seconds=LEASE_SECONDS), "last_seen_at": now}
