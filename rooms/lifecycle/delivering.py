"""Delivery of results to agents, and of earlier answers to open questions: marks beside the state."""

from collections.abc import Sequence
from typing import Any

from rooms.db import timezone
from rooms.db.transactions import alias, writing
from rooms.lifecycle.revisions import Mark
from rooms.models import Answer, Question, Room

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
        # With the lock no earlier question can be deleted, and no person in it anonymised, before the commit.
        # Without a join: MariaDB would lock the question as well, in another order than the other verbs.
        room_ids = Question.objects.filter(pk=question_id).values_list("room_id", flat=True)
        list(Room.objects.using(alias()).select_for_update().filter(pk__in=list(room_ids)).values_list("pk"))
        earlier = [memory.get("question_id") for memory in memories]
        found = Question.objects.with_answer().in_bulk(earlier)
        left = [
            memory_as_now(memory, found[pk].answer_or_none)
            for pk, memory in zip(earlier, memories, strict=True)
            if pk in found
        ]
        return RECALLED.change(id=question_id, memories=left)


def memory_as_now(memory: dict[str, Any], answer: Answer | None) -> dict[str, Any]:
    """An earlier answer as a card shows it, with the names that are in the answer now."""
    if answer is None:
        return memory
    notes = [choice["notes"] for choice in answer.choices if choice.get("notes")]
    return {**memory, "person": answer.person_name, "notes": notes}
