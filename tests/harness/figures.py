"""What was measured: shown with `pytest -s`, and kept in the file that FIGURES names."""

import os
from collections.abc import Sequence
from pathlib import Path

from tests.harness.bridges import Bridge


def report(line: str) -> None:
    """One line for whoever wants to quote it."""
    print(f"\n{line}")
    if path := os.environ.get("FIGURES"):
        with Path(path).open("a") as file:
            file.write(f"{line}\n")


def setup_of(bridge: Bridge) -> str:
    """How the bridge that was measured is set up."""
    return "PostgreSQL and Redis" if "DATABASE_URL" in bridge.environment else "SQLite"


def percentile(seconds: Sequence[float], part: float) -> float:
    """The time within which this part of them came."""
    return sorted(seconds)[min(int(len(seconds) * part), len(seconds) - 1)]


def percentiles(seconds: Sequence[float]) -> str:
    """How long the half of them, nearly all of them and the last one took."""
    p50, p99, longest = (f"{percentile(seconds, part) * 1000:,.0f}" for part in (0.5, 0.99, 1))
    return f"p50 {p50} ms, p99 {p99} ms, max {longest} ms"
