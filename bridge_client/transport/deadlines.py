"""Deadlines: when a call gives up, when a question expires, and how long to wait for that."""

from __future__ import annotations

import time

from bridge_client.results import Question

# The bridge expires a question at its deadline. Its reply may arrive this much later; after that the agent
# continues without it. Claude Code stops a hook 15 seconds after the hook's own timeout.
EXPIRY_GRACE_SECONDS = 10.0
# What a bridge accepts as a deadline: more than 0, and at most a month.
SHORTEST_DEADLINE_SECONDS = 0.001
LONGEST_DEADLINE_SECONDS = 30 * 24 * 3600.0


class Deadline:
    """The time at which a call gives up; None is never."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def seconds_left(self) -> float:
        return float("inf") if self._end is None else max(0.0, self._end - time.monotonic())


def question_deadline(timeout_seconds: float | None) -> float | None:
    """The deadline to send for a question that is over when its agent stops waiting; None is never."""
    if timeout_seconds is None or timeout_seconds > LONGEST_DEADLINE_SECONDS:
        return None
    return max(timeout_seconds, SHORTEST_DEADLINE_SECONDS)


def longest_wait(question: Question, timeout_seconds: float | None) -> float | None:
    """How long to wait for the bridge to expire such a question; None is without limit."""
    if timeout_seconds is None:
        return None
    # A choice that was made just before the deadline can still be undone after it.
    return timeout_seconds + EXPIRY_GRACE_SECONDS + float(question.care.get("undo_seconds") or 0)
