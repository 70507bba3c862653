"""Measured values by target, measure and round; reports use the medians."""

from collections import defaultdict
from collections.abc import Collection
from statistics import median


class Record:
    def __init__(self) -> None:
        # target -> measure -> one value for each round
        self.values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        # What did not run, in a sentence each.
        self.failures: list[str] = []

    def add(self, target: str, measure: str, value: float) -> None:
        self.values[target][measure].append(value)

    def of(self, target: str, measure: str) -> list[float]:
        """In the order of the rounds; nothing of what was not measured."""
        return self.values.get(target, {}).get(measure, [])

    def median(self, target: str, measure: str) -> float | None:
        """None for what was not measured."""
        values = self.of(target, measure)
        return median(values) if values else None

    def total(self, measure: str, targets: Collection[str]) -> float:
        """Over all rounds of these targets."""
        return sum(sum(self.of(target, measure)) for target in targets)


# ---- the names of the measures, all in seconds, bytes or pieces


def agent_p50(count: int) -> str:
    return f"click to agent, p50, {count:,} waiting"


def agent_p99(count: int) -> str:
    return f"click to agent, p99, {count:,} waiting"


def last_viewer(count: int) -> str:
    return f"click to the last of {count:,} viewers"


def come_back(count: int) -> str:
    return f"{count:,} viewers come back at once"


ASK_CPU = "server CPU per ask"
AGENT_BYTES, VIEWER_BYTES = "memory per waiting agent", "memory per viewer"
AGENT_THREADS, VIEWER_THREADS = "threads per waiting agent", "threads per viewer"
AGENT_HANDLES = "database handles per waiting agent"
VIEWER_HANDLES = "database handles per viewer"
LOST = "answers lost"
