"""Tells a portal's own code of questions, as they are after commit."""

from typing import Any

from rooms.models import Question
from rooms.signals import question_asked, question_settled


def announce_question(revision: int, question_id: str | None, is_settled: bool, **signal: Any) -> None:
    """Send what the portal listens to; where nobody does this costs nothing."""
    if question_id is None:
        return
    if is_settled and question_settled.has_listeners(Question):
        question = Question.objects.with_answer().filter(pk=question_id).first()
        if question:
            question_settled.send_robust(Question, question=question)
    elif not is_settled and question_asked.has_listeners(Question):
        # Of all other changes only the first has the number of the question's place in the timeline.
        question = Question.objects.with_answer().filter(pk=question_id, position=revision).first()
        if question:
            question_asked.send_robust(Question, question=question)
