"""Goals: the ratios that Ask Bridge must reach against its alternatives in the same run."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from bench import record as measures
from bench.plan import Plan
from bench.record import Record

KIB = 1024
Pair = tuple[str, str]  # target, measure
Value = Callable[[Record], float | None]


@dataclass(frozen=True)
class Bound:
    """How large a figure may be, or how small if more is better."""

    least: float
    aim: float | None = None
    more_is_better: bool = False

    def is_kept(self, value: float, limit: float) -> bool:
        return value >= limit if self.more_is_better else value <= limit


@dataclass(frozen=True)
class Goal:
    """One line of the table."""

    measure: str
    target: str
    value: Value
    bound: Bound
    unit: str = "×"

    def verdict(self, value: float | None) -> str:
        if value is None:
            return "not measured"
        if not self.bound.is_kept(value, self.bound.least):
            return "missed"
        aim = self.bound.aim
        return "aim reached" if aim is not None and self.bound.is_kept(value, aim) else "kept"


def ratio(above: Pair, below: Pair) -> Value:
    """The median of the ratios in each round, or turn: a machine is not as quick in one as in the next."""

    def computed(record: Record) -> float | None:
        above_in_rounds, below_in_rounds = record.of(*above), record.of(*below)
        if len(above_in_rounds) == len(below_in_rounds) > 0:
            return median(one / other for one, other in zip(above_in_rounds, below_in_rounds, strict=True))
        # Something did not run in some round.
        numerator, denominator = record.median(*above), record.median(*below)
        return numerator / denominator if numerator is not None and denominator else None

    return computed


def in_kib(target: str, measure: str) -> Value:
    def computed(record: Record) -> float | None:
        value = record.median(target, measure)
        return None if value is None else value / KIB

    return computed


OURS = ("daphne", "uvicorn", "scaled")

# Where the server makes a difference: what Daphne and uvicorn are held to.
RAW_BOUNDS = {"daphne": Bound(8, 4.5), "uvicorn": Bound(5, 3)}
NCHAN_BOUNDS = {"daphne": Bound(4, 3), "uvicorn": Bound(2, 1.6)}
ASKS_BOUNDS = {
    "daphne": Bound(4, 6, more_is_better=True),
    "uvicorn": Bound(4, 8, more_is_better=True),
}
# A thread that a pool made meanwhile, spread over all who came: anything per agent or viewer would be near 1.
GROWTH_OF_NOTHING = 0.01


def goals(plan: Plan) -> list[Goal]:
    """Every line, in the order of the table."""
    servers = zip(_goals_of("daphne", plan), _goals_of("uvicorn", plan), strict=True)
    count = plan.viewers[1]
    last = measures.last_viewer(count)
    return [
        *(goal for pair in servers for goal in pair),
        Goal(
            f"click → last of {count:,} viewers, two processes with Redis against one",
            "scaled",
            ratio(("scaled", last), ("daphne", last)),
            Bound(1.5, 1.2),
        ),
        Goal("answers lost", "ours", lambda record: record.total(measures.LOST, OURS), Bound(0), unit=""),
    ]


def _goals_of(server: str, plan: Plan) -> list[Goal]:
    """Of ours in one process on this server."""
    _, some_agents, many_agents = plan.agents
    _, some_viewers, many_viewers = plan.viewers
    p50, last = measures.agent_p50(some_agents), measures.last_viewer(some_viewers)
    to_agent, to_last = f"click → agent, p50 at {some_agents:,}", f"click → last of {some_viewers:,} viewers"
    peer, alike = f"eventstream-{server}", "against django-eventstream on the same server"

    def goal(measure: str, value: Value, bound: Bound, unit: str = "×") -> Goal:
        return Goal(measure, server, value, bound, unit)

    def against(other: str, measure: str) -> Value:
        return ratio((server, measure), (other, measure))

    def among_ours(above: str, below: str) -> Value:
        return ratio((server, above), (server, below))

    return [
        goal(f"{to_agent}, {alike}", against(peer, p50), Bound(0.5, 0.25)),
        goal(f"{to_agent}, against the raw durable hub", against("raw", p50), RAW_BOUNDS[server]),
        goal(
            f"click → agent, p99 against p50 at {many_agents:,}",
            among_ours(measures.agent_p99(many_agents), measures.agent_p50(many_agents)),
            Bound(5, 2.5),
        ),
        goal(f"{to_last}, {alike}", against(peer, last), Bound(0.4, 0.3)),
        goal(f"{to_last}, against nginx + nchan", against("nchan", last), NCHAN_BOUNDS[server]),
        goal(
            f"click → last of {many_viewers:,} viewers, against {some_viewers:,}",
            among_ours(measures.last_viewer(many_viewers), last),
            Bound(3.5, 3),
        ),
        goal(
            f"asks per CPU second, {alike}",
            ratio((peer, measures.ASK_CPU), (server, measures.ASK_CPU)),
            ASKS_BOUNDS[server],
        ),
        goal("memory per waiting agent", in_kib(server, measures.AGENT_BYTES), Bound(16, 12), " KiB"),
        goal("memory per viewer", in_kib(server, measures.VIEWER_BYTES), Bound(16, 12), " KiB"),
        goal("threads and database handles for each", _growing(server), Bound(GROWTH_OF_NOTHING), ""),
    ]


def _growing(target: str) -> Value:
    """The largest of them all."""

    def computed(record: Record) -> float | None:
        counted = (
            record.median(target, measure)
            for measure in (
                measures.AGENT_THREADS,
                measures.VIEWER_THREADS,
                measures.AGENT_HANDLES,
                measures.VIEWER_HANDLES,
            )
        )
        known = [value for value in counted if value is not None]
        return max(known) if known else None

    return computed
