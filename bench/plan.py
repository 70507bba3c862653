"""Sizes of a run: enough for steady ratios, or just enough to see that everything works."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Plan:
    """The numbers of one run. Of three counts the first is few, the second a busy day, the third the edge."""

    rounds: int
    # Agents that wait at the same time, and how many clicks are timed at each count.
    agents: tuple[int, ...]
    clicks: int
    # Pages that are open at the same time, and how many clicks are timed at each count.
    viewers: tuple[int, ...]
    fanouts: int
    # Asks in a row, and how often: by turns with what they are compared with.
    asks: int
    bursts: int
    # Pages that come back at once after a restart.
    returning: int

    def without_edge(self) -> "Plan":
        return replace(self, agents=self.agents[:-1], viewers=self.viewers[:-1])


# A little more than 200 clicks, so that the slowest of a hundred is not simply the slowest of all, nor one
# that met a hiccup of the machine.
FULL = Plan(
    rounds=3,
    agents=(1, 500, 3_000),
    clicks=205,
    viewers=(100, 1_000, 3_000),
    fanouts=15,
    asks=200,
    bursts=5,
    returning=1_000,
)
QUICK = Plan(
    rounds=1,
    agents=(1, 50, 150),
    clicks=30,
    viewers=(10, 50, 150),
    fanouts=5,
    asks=75,
    bursts=2,
    returning=50,
)
TINY = Plan(rounds=1, agents=(1, 3, 6), clicks=4, viewers=(2, 4, 8), fanouts=2, asks=8, bursts=1, returning=4)
