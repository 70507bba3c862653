"""The sweep: expires, releases, escalates and closes the questions that are due, and ends old leases."""

from rooms.db import timezone
from rooms.db.compiled import Select
from rooms.db.schema import schema
from rooms.lifecycle.approval import escalate, release
from rooms.lifecycle.exceptions import AlreadySettled, NeedsNewerVersion
from rooms.lifecycle.revisions import LeavingMark
from rooms.lifecycle.settling import close_stale, expire
from rooms.models import Question

# A sweep takes at most this many questions per verb, so that it does not delay the next sweep.
SWEEP_LIMIT = 200

# The query for due questions, and the verb for them; run once a second.
DUE = (
    (Select(lambda now: Question.objects.select_related("room").due(now)[:SWEEP_LIMIT]), expire),
    (Select(lambda now: Question.objects.select_related("room").releasable(now)[:SWEEP_LIMIT]), release),
    (Select(lambda now: Question.objects.select_related("room").escalating(now)[:SWEEP_LIMIT]), escalate),
    (Select(lambda now: Question.objects.select_related("room").stale(now)[:SWEEP_LIMIT]), close_stale),
)
LEASE_OVER = Select(lambda now: Question.objects.abandoned(now).values_list("pk")[:SWEEP_LIMIT])
NO_LONGER_ATTENDED = LeavingMark(lambda id, now: Question.objects.filter(pk=id).abandoned(now))


def sweep() -> None:
    """Run the verbs that are due. Several processes may sweep at the same time.

    Those of an older version than the database settle nothing: they might miss a rule of the newer one.
    """
    now = timezone.now()
    for due, verb in () if schema.is_newer() else DUE:
        for question in due.all(now=now):
            try:
                verb(question)
            except (AlreadySettled, NeedsNewerVersion):
                continue
    for (question_id,) in LEASE_OVER.all(now=now):
        NO_LONGER_ATTENDED.change(id=question_id, now=now)
