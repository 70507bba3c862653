"""Deletion of settled questions and of whole rooms. Audit entries remain, without what was asked or answered.

A deleted question leaves no copy: its answer, history entry and notifications are deleted with it, and open
cards that show it as an earlier answer forget it.
"""

from collections.abc import Collection, Iterable
from typing import Any

from rooms import audit
from rooms.audit import Action, actor_of
from rooms.db.transactions import writing
from rooms.lifecycle.actors import Person
from rooms.lifecycle.revisions import announce, next_revision
from rooms.models import Question, QuestionQuerySet, Room


def delete_questions(questions: QuestionQuerySet, by: Person) -> None:
    """Delete these and their answers, with one audit entry each."""
    with writing():
        found = list(questions.select_related("room"))
        actor = actor_of(by)
        audit.record_all(
            [
                audit.entry(
                    Action.QUESTION_DELETED, question.room, actor, question.pk, agent=question.agent_name
                )
                for question in found
            ]
        )
        ids = {question.pk for question in found}
        for room_id in sorted({question.room_id for question in found}):
            forget_earlier_answers(room_id, ids)
        Question.objects.filter(pk__in=ids).delete()


def delete_rooms(rooms: Iterable[Room], by: Person) -> None:
    """Delete rooms with all that is in them; an entry in each room's audit log says how much that was."""
    for room in rooms:
        with writing():
            counts: dict[str, Any] = {"questions": room.questions.count(), "messages": room.messages.count()}
            with audit.acting_as(by):
                # First the members, so that the entry of the room is the last one of its chain.
                for membership in room.memberships.select_related("user", "room"):
                    membership.delete()
                for group in room.group_memberships.select_related("group", "room"):
                    group.delete()
                audit.record(Action.ROOM_DELETED, room, actor_of(by), **counts)
                room.delete()


def forget_earlier_answers(room_id: int, question_ids: Collection[str]) -> None:
    """Remove these questions from the earlier answers that open cards of the room show.

    The caller holds the lock of the room.
    """
    showing = Question.objects.open().filter(room=room_id, memories__isnull=False)
    for question in showing.only("pk", "memories"):
        left = [memory for memory in question.memories or () if memory["question_id"] not in question_ids]
        if len(left) < len(question.memories or ()):
            revision = next_revision(room_id)
            Question.objects.filter(pk=question.pk).update(memories=left, revision=revision)
            announce(room_id, revision, question.pk)
