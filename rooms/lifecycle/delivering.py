"""Delivery of results to agents, and of earlier answers to open questions: marks beside the state."""

from collections.abc import Sequence
from typing import Any

from rooms.db import timezone
from rooms.db.transactions import alias, writing
from rooms.lifecycle.revisions import Mark
from rooms.models import Question, Room

DELIVERED = Mark(
    lambda id: Question.objects.filter(pk=id, settled_at__isnull=False, delivered_at=None), "delivered_at"
)
RECALLED = Mark(lambda id: Question.objects.open().filter(pk=id), "memories")


def deliver(question_id: str) -> None:
    """Record that the result was sent to an agent that waited for it."""
    DELIVERED.change(id=question_id, delivered_at=timezone.now())


def deliver_all(question_ids: Sequence[str]) -> None:
    """Record that these results were sent, in one transaction."""
    if len(question_ids) == 1:
        deliver(question_ids[0])
    elif question_ids:
        with writing():
            for question_id in question_ids:
                deliver(question_id)


def recall(question_id: str, memories: list[dict[str, Any]]) -> bool:
    """Store earlier answers to very similar questions with an open question; False if it is settled."""
    with writing():
        # With the lock no earlier question can be deleted between the check and the commit.
        # Without a join: MariaDB would lock the question as well, in another order than the other verbs.
        room_ids = Question.objects.filter(pk=question_id).values_list("room_id", flat=True)
        list(Room.objects.using(alias()).select_for_update().filter(pk__in=list(room_ids)).values_list("pk"))
        earlier = [memory.get("question_id") for memory in memories]
        existing = set(Question.objects.filter(pk__in=earlier).values_list("pk", flat=True))
        left = [memory for memory in memories if memory.get("question_id") in existing]
        return RECALLED.change(id=question_id, memories=left)
