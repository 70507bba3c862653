"""Deletion of settled questions with their answers; an audit entry for each remains."""

from rooms import audit
from rooms.audit import Action, actor_of
from rooms.db.transactions import writing
from rooms.lifecycle.actors import Person
from rooms.models import QuestionQuerySet


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
        questions.model._default_manager.filter(pk__in=[question.pk for question in found]).delete()
