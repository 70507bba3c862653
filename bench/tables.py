"""The figures as Markdown tables and as JSON."""

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from bench import record as measures
from bench.plan import Plan
from bench.ratios import KIB, Goal, goals
from bench.record import Record
from bench.targets import Target

Cells = Sequence[str]


def goals_table(plan: Plan, record: Record) -> str:
    """What was promised and what was found, of what was measured."""
    rows = [("measure", "target", "found", "at least", "aim", "")]
    for goal in goals(plan):
        value, bound = goal.value(record), goal.bound
        if value is None:
            continue
        sign = "≥" if bound.more_is_better else "≤"
        rows.append(
            (
                goal.measure,
                goal.target,
                f"{value:.2f}{goal.unit}",
                f"{sign} {bound.least:g}{goal.unit}",
                "" if bound.aim is None else f"{sign} {bound.aim:g}{goal.unit}",
                goal.verdict(value),
            )
        )
    return table(rows)


def figures_table(plan: Plan, record: Record, targets: Sequence[Target]) -> str:
    """The medians behind the ratios: of this machine, in this run, and of no use elsewhere."""
    rows = [("measure", *(target.name for target in targets))]
    for measure, show in _shown(plan):
        values = [record.median(target.name, measure) for target in targets]
        if any(value is not None for value in values):
            rows.append((measure, *("–" if value is None else show(value) for value in values)))
    return table(rows)


def table(rows: Sequence[Cells]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]

    def line(cells: Cells) -> str:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        return f"| {' | '.join(padded)} |"

    header, *rest = rows
    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, rest)])


def as_json(plan: Plan, record: Record, targets: Sequence[Target], seconds: float) -> dict[str, Any]:
    """Everything that was measured, in seconds, bytes and pieces, and what follows from it."""
    return {
        "plan": asdict(plan),
        "machine": {
            "processors": os.cpu_count(),
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "duration_seconds": round(seconds),
        "targets": {target.name: target.label for target in targets},
        "rounds": {
            name: {measure: list(map(_rounded, values)) for measure, values in measured.items()}
            for name, measured in record.values.items()
        },
        "goals": [_goal_as_json(goal, record) for goal in goals(plan)],
    }


def _goal_as_json(goal: Goal, record: Record) -> dict[str, Any]:
    value = goal.value(record)
    return {
        "measure": goal.measure,
        "target": goal.target,
        "value": None if value is None else _rounded(value),
        "at_least": goal.bound.least,
        "aim": goal.bound.aim,
        "more_is_better": goal.bound.more_is_better,
        "verdict": goal.verdict(value),
    }


def _rounded(value: float) -> float:
    """To what can be told apart."""
    return float(f"{value:.4g}")


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def _kibibytes(count: float) -> str:
    return f"{count / KIB:.1f} KiB"


def _pieces(count: float) -> str:
    return f"{count:.2f}"


def _shown(plan: Plan) -> list[tuple[str, Callable[[float], str]]]:
    times = [name(count) for count in plan.agents for name in (measures.agent_p50, measures.agent_p99)]
    times += [measures.last_viewer(count) for count in plan.viewers]
    times += [measures.ASK_CPU, measures.come_back(plan.returning)]
    return [
        *((name, _milliseconds) for name in times),
        (measures.AGENT_BYTES, _kibibytes),
        (measures.VIEWER_BYTES, _kibibytes),
        (measures.AGENT_THREADS, _pieces),
        (measures.VIEWER_THREADS, _pieces),
        (measures.AGENT_HANDLES, _pieces),
        (measures.VIEWER_HANDLES, _pieces),
    ]
