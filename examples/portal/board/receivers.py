"""Signal receiver that pins every decision to the board."""

from typing import Any

from django.dispatch import receiver

from board.models import Note
from rooms.models import Question
from rooms.signals import question_settled


@receiver(question_settled)
def pin(question: Question, **signal: Any) -> None:
    answer = question.answer_or_none
    who = answer.person_name if answer else "niemand"
    Note.objects.create(text=f"{question.room}: „{question}“ – {question.get_status_display()}, {who}"[:300])
