"""Retries: which errors are worth one, the backoff before it, and when to give up."""

from __future__ import annotations

import os
from typing import Callable

from bridge_client.errors import ClientError, ProblemError, Unreachable
from bridge_client.transport.cancellation import Cancellation
from bridge_client.transport.deadlines import Deadline

# Refused before any change, so that even a call that must not happen twice can be retried.
UNTOUCHED_STATUSES = (429, 503)
# Except with this code: a database that goes away during a commit may have committed.
UNCERTAIN_CODE = "database_unavailable"

# The first pause is too short to notice. Pauses double up to the longest, which is long enough that a
# thousand agents do not overload a bridge that starts. Together with the second that a bridge asks for in
# Retry-After, an agent reconnects within 5 seconds after the bridge is up again.
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 3.0
# A bridge names seconds. A maintenance page may name an hour, while the bridge is back after a minute.
LONGEST_RETRY_AFTER_SECONDS = 60.0

OnRetry = Callable[[ClientError], None]


class Retries:
    """The backoff between the tries of one call.

    A wait uses all of its time: its last try is at the deadline. Any other call ends as soon as the next
    pause would last too long, because a person or a program waits for it.
    """

    def __init__(
        self,
        deadline: Deadline,
        cancellation: Cancellation | None = None,
        on_retry: OnRetry | None = None,
        *,
        is_wait: bool = False,
    ) -> None:
        self._deadline = deadline
        self._cancellation = cancellation or Cancellation()
        self._on_retry = on_retry
        self._is_wait = is_wait
        self._failures = 0

    def pause(self, error: ClientError, *, is_repeatable: bool = True) -> None:
        """Sleep until the next try, or raise the error if there is none."""
        if not _is_worth_a_retry(error, is_repeatable):
            raise error
        seconds, left = self._pause_seconds(error), self._deadline.seconds_left
        if not left or (seconds >= left and not self._is_wait):
            raise error
        if self._on_retry and not self._failures:
            self._on_retry(error)
        self._failures += 1
        self._cancellation.sleep(min(seconds, left))

    @property
    def is_last_try(self) -> bool:
        """Whether the time is over and only the last try of a wait is left."""
        return self._failures > 0 and not self._deadline.seconds_left

    def succeeded(self) -> None:
        """Reset the backoff: the next outage begins with a short pause again."""
        self._failures = 0

    def _pause_seconds(self, error: ClientError) -> float:
        longest = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * (1 << min(self._failures, 10)))
        seconds = jittered(longest)
        if isinstance(error, ProblemError) and error.retry_after_seconds is not None:
            return min(error.retry_after_seconds, LONGEST_RETRY_AFTER_SECONDS) + seconds
        return seconds


def jittered(seconds: float) -> float:
    """From half to all of it, so that agents cut off together do not reconnect together."""
    return seconds * (0.5 + os.urandom(1)[0] / 510)


def _is_worth_a_retry(error: ClientError, is_repeatable: bool) -> bool:
    if is_repeatable or not error.is_temporary:
        return error.is_temporary
    if isinstance(error, Unreachable):
        return not error.was_sent
    if isinstance(error, ProblemError):
        return error.status in UNTOUCHED_STATUSES and error.code != UNCERTAIN_CODE
    return False
