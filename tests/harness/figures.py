"""Measured figures: shown with `pytest -s`, and appended to the file that FIGURES names."""

import os
from collections.abc import Sequence
from pathlib import Path

from tests.harness.bridges import Bridge


def report(line: str) -> None:
    """Report one line."""
    print(f"\n{line}")
    if path := os.environ.get("FIGURES"):
        with Path(path).open("a") as file:
            file.write(f"{line}\n")


def setup_of(bridge: Bridge) -> str:
    """The databases of the bridge that was measured."""
    return "PostgreSQL and Redis" if "DATABASE_URL" in bridge.environment else "SQLite"


def percentile(seconds: Sequence[float], part: float) -> float:
    """The duration at this share of all, from 0 to 1."""
    return sorted(seconds)[min(int(len(seconds) * part), len(seconds) - 1)]


def percentiles(seconds: Sequence[float]) -> str:
    """Median, 99th percentile and maximum as text."""
    p50, p99, longest = (f"{percentile(seconds, part) * 1000:,.0f}" for part in (0.5, 0.99, 1))
    return f"p50 {p50} ms, p99 {p99} ms, max {longest} ms"
