"""The result of a delivery attempt: sent, retried with backoff, or failed; and the health of its receiver."""

import random
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F

from rooms.db import timezone
from rooms.db.transactions import writing
from rooms.models import Notice
from rooms.models.notifications import ERROR_LENGTH, Receiver
from rooms.notifications import safe_http
from rooms.notifications.channels.channel import Channel
from rooms.notifications.channels.registry import channel_of
from rooms.notifications.decision import GIVES_UP_AFTER, MOST_ATTEMPTS

# Half a minute after the first failure, three times as long after each further one: nine hours in all.
FIRST_RETRY = timedelta(seconds=30)
RETRY_FACTOR = 3
# Deliveries that failed at the same moment are not retried at the same moment.
JITTER = 0.25
# Consecutive failures of all notices to one receiver. Then it is paused: for a minute, twice as long after
# each further failure, but never for longer than an hour.
FAILURES_BEFORE_PAUSE = 5
FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=1)


def record_result(notice: Notice, problem: Exception | None, *, is_slow: bool) -> None:
    """Store the result of an attempt: a problem, or None for success."""
    now, channel = timezone.now(), channel_of(notice)
    error = error_text(problem)
    if problem and notice.kind == Notice.Kind.TEST and (name := channel.receiver_name(notice)):
        # Stored with the error: a device that is gone cannot be looked up when this is shown.
        error = f"{name}: {error}"
    fields: dict[str, Any] = {"leased_until": None, "last_error": error[:ERROR_LENGTH]}
    if problem is None:
        fields["sent_at"] = now
    elif isinstance(problem, safe_http.Refused) or not _may_retry(notice, now):
        fields |= {"failed_at": now, "failures": F("failures") + 1}
    else:
        fields |= {"next_attempt_at": now + _backoff(notice, problem), "failures": F("failures") + 1}
    with writing():
        Notice.objects.filter(pk=notice.pk, sent_at=None).update(**fields)
        if receiver := channel.receiver_of(notice):
            _record_health(channel, receiver, problem, is_slow=is_slow)


def error_text(problem: Exception | None) -> str:
    """A sentence for people; an unexpected exception by its type."""
    if problem is None:
        return ""
    if isinstance(problem, safe_http.Refused | safe_http.Unreachable):
        return str(problem)
    return f"{type(problem).__name__}: {problem}"


def _may_retry(notice: Notice, now: datetime) -> bool:
    is_recent = notice.due_at > now - GIVES_UP_AFTER
    return notice.question_id is not None and notice.attempts < MOST_ATTEMPTS and is_recent


def _backoff(notice: Notice, problem: Exception) -> timedelta:
    backoff = FIRST_RETRY * RETRY_FACTOR ** (notice.attempts - 1)
    retry_after = timedelta(seconds=getattr(problem, "retry_after_seconds", 0))
    return max(backoff * random.uniform(1 - JITTER, 1 + JITTER), retry_after)  # noqa: S311 - no secret


def _record_health(channel: Channel, receiver: Receiver, problem: Exception | None, *, is_slow: bool) -> None:
    """Failures, pause and speed, by which the outbox protects other receivers; a success ends the pause."""
    row = type(receiver)._default_manager.filter(pk=receiver.pk)
    if channel.deletes_gone_receivers and isinstance(problem, safe_http.Gone):
        row.delete()
    elif problem is None:
        row.update(
            failures=0, paused_until=None, is_slow=is_slow, **channel.fields_after_success(timezone.now())
        )
    else:
        row.update(failures=F("failures") + 1, is_slow=is_slow)
        failures = row.values_list("failures", flat=True).first() or 0
        if failures >= FAILURES_BEFORE_PAUSE:
            doublings = min(failures - FAILURES_BEFORE_PAUSE, LONGEST_PAUSE // FIRST_PAUSE)
            pause = min(FIRST_PAUSE * 2**doublings, LONGEST_PAUSE)
            row.update(paused_until=timezone.now() + pause)
