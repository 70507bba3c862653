"""What is due by itself."""

from rooms.lifecycle.careful import escalate, release
from rooms.lifecycle.changes import change
from rooms.lifecycle.refusals import AlreadySettled
from rooms.lifecycle.settling import expire
from rooms.models import Question

# One sweep settles at most this many questions, so that it never holds up the next.
SWEEP_LIMIT = 200


def sweep() -> None:
    """Whatever is due by itself; any number of processes may do so at once."""
    questions = Question.objects.select_related("room")
    due = [(questions.due(), expire), (questions.ripe(), release), (questions.escalating(), escalate)]
    for found, verb in due:
        for question in found[:SWEEP_LIMIT]:
            try:
                verb(question)
            except AlreadySettled:
                continue
    for question_id in Question.objects.abandoned().values_list("pk", flat=True)[:SWEEP_LIMIT]:
        change(question_id, Question.objects.abandoned(), agent_active=False)
