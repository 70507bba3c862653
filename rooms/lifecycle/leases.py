"""Agents wait, leave, and get what was decided: marks beside the state of a question."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from rooms.db.compiled import Select, Update
from rooms.db.transactions import in_batches, writing
from rooms.lifecycle.revisions import LeavingMark, Mark
from rooms.models import Question, QuestionQuerySet

# How long an agent counts as waiting after its last sign of life. Held waits renew it every few seconds;
# a killed agent has to show as gone within 30 s, and one between two long-polls must not flicker.
LEASE_SECONDS = 20
# How long an agent counts as waiting between two long-polls. A machine that vanished without a word is known
# only by not coming back: with the longest wait of 55 seconds it shows within a minute.
PAUSE_SECONDS = 3
# How long a new question counts as attended before an agent waits for it: more than the few seconds that a
# client takes from its ask to its first wait, so that badge and notifications are there at once.
GRACE_SECONDS = 45
# A poll or event stream waits for the newest open questions of its key: a renewal costs no more than these.
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
DELIVERED = Mark(
    lambda id: Question.objects.filter(pk=id, settled_at__isnull=False, delivered_at=None), "delivered_at"
)
RECALLED = Mark(_open, "memories")
ASKED_WITH: Select[Any] = Select(
    lambda key: Question.objects.open().filter(key=key).order_by("-asked_at")[:QUESTIONS_PER_KEY], "pk"
)


def wait_started(question_id: str) -> None:
    """An agent waits: it is active for the length of a lease."""
    started = {"agent_active": True, "is_attended": True, "closes_at": None}
    if not STARTED.change(id=question_id, **started, **_lease()):
        with writing():
            RENEWED.run(id=question_id, **_lease())


def wait_paused(question_id: str) -> None:
    """The agent's wait ran out and was answered: it is expected back at once."""
    pause_waits([question_id])


def pause_waits(question_ids: Sequence[str]) -> None:
    """The same for several questions: an agent that waits for all of them is expected back at once."""
    if question_ids:
        pause = {"waiting_until": timezone.now() + timedelta(seconds=PAUSE_SECONDS)}
        with writing():
            for question_id in question_ids:
                PAUSED.run(id=question_id, **pause)


def wait_ended(question_id: str) -> None:
    """The agent stopped waiting, and says so or hung up."""
    ENDED.change(id=question_id, waiting_until=timezone.now())


def asked_with(key_id: int) -> list[str]:
    """The open questions of a key, the newest: a poll or event stream with it waits for these."""
    return [question_id for (question_id,) in ASKED_WITH.all(key=key_id)]


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


def deliver_all(question_ids: Sequence[str]) -> None:
    """The results of these went out together: one commit for all."""
    if len(question_ids) == 1:
        deliver(question_ids[0])
    elif question_ids:
        with writing():
            for question_id in question_ids:
                deliver(question_id)


def recall(question_id: str, memories: list[dict[str, Any]]) -> bool:
    """Earlier answers to very similar questions were found, while it is still open."""
    return RECALLED.change(id=question_id, memories=memories)


def _lease() -> dict[str, datetime]:
    now = timezone.now()
    return {"waiting_until": now + timedelta(seconds=LEASE_SECONDS), "last_seen_at": now}
