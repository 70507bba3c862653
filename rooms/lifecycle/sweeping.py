"""What is due by itself."""

from django.utils import timezone

from rooms.db.compiled import Select
from rooms.lifecycle.approval import escalate, release
from rooms.lifecycle.exceptions import AlreadySettled
from rooms.lifecycle.revisions import LeavingMark
from rooms.lifecycle.settling import close_stale, expire
from rooms.models import Question

# One sweep settles at most this many questions, so that it never holds up the next.
SWEEP_LIMIT = 200

# What is looked for each second, and the verb for it.
DUE = (
    (Select(lambda now: Question.objects.select_related("room").due(now)[:SWEEP_LIMIT]), expire),
    (Select(lambda now: Question.objects.select_related("room").ripe(now)[:SWEEP_LIMIT]), release),
    (Select(lambda now: Question.objects.select_related("room").escalating(now)[:SWEEP_LIMIT]), escalate),
    (Select(lambda now: Question.objects.select_related("room").stale(now)[:SWEEP_LIMIT]), close_stale),
)
ABANDONED = Select(lambda now: Question.objects.abandoned(now).values_list("pk")[:SWEEP_LIMIT])
NO_LONGER_ATTENDED = LeavingMark(lambda id, now: Question.objects.filter(pk=id).abandoned(now))


def sweep() -> None:
    """Whatever is due by itself; any number of processes may do so at once."""
    now = timezone.now()
    for due, verb in DUE:
        for question in due.all(now=now):
            try:
                verb(question)
            except AlreadySettled:
                continue
    for (question_id,) in ABANDONED.all(now=now):
        NO_LONGER_ATTENDED.change(id=question_id, now=now)
