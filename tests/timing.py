"""How long something takes, on a machine that is busy with other things as well."""

import time
from collections.abc import Callable


class Stopwatch:
    def __init__(self) -> None:
        self.started = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started


def best_of(count: int, measure: Callable[[], float]) -> float:
    """The shortest of several: what the way itself costs, without what else this machine is busy with."""
    return min(measure() for _ in range(count))
