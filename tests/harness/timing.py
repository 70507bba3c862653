"""Waiting for a condition, and measuring durations on a machine that also runs other work."""

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

# The limit for anything that the test itself does not time; a passing test needs a fraction of it.
PATIENCE_SECONDS = 10
# Pattern of a clock time in the English pages of a server: "2:05 p.m. UTC".
CLOCK_TIME = r"(?:[\d:]+ [ap]\.m\.|noon|midnight) UTC"


def eventually(look: Callable[[], Result], seconds: float = PATIENCE_SECONDS) -> Result:
    """Call `look` until it returns something true, and return that."""
    begun = time.monotonic()
    while not (found := look()):
        waited = time.monotonic() - begun
        assert waited < seconds, f"still {found!r} after {seconds} seconds"
        # After a long wait look less often: each look costs CPU time of the site under test.
        time.sleep(min(max(0.02, waited / 20), 0.5))
    return found


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self.started = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started


def best_of(count: int, measure: Callable[[], float]) -> float:
    """The shortest of several measurements: the one that other work of the machine disturbed least."""
    return min(measure() for _ in range(count))
