"""`python -m bench.growth`: cost of each operation as history, rooms and open questions grow.

    python -m bench.growth            # half an hour; --quick takes four minutes

Each size is a database of its own, on SQLite and on PostgreSQL. The table shows the median of each operation,
its ratio to the smallest size (wall time and CPU time of this process), and the number of queries. Times
depend on the machine, ratios and queries do not; on a busy machine wall time includes other work.
"""

import argparse
import json
import os
import platform
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import django

from tests.harness.sites import ROOT, clean_environment

KINDS = ("sqlite", "postgresql")
# Only whole runs are worth keeping there.
REPORT = ROOT / "docs/performance/growth.json"
# Enough for a steady median; more only takes longer.
REPETITIONS = 40


def table(kind: str, figures: dict[str, Any]) -> str:
    """Milliseconds, how they and those of the CPU compare with the smallest size, and queries."""
    sizes = list(next(iter(figures.values())))
    lines = ["".join([f"{kind:<20}", *(f"{name:>28}" for name in sizes)])]
    for operation, by_size in figures.items():
        smallest = by_size[sizes[0]]
        cells = [
            f"{found['ms']:.1f} ms {found['ms'] / smallest['ms']:5.2f}x"
            f"{found['cpu_ms'] / smallest['cpu_ms']:5.2f}x{found['queries']:>3} q"
            for found in by_size.values()
        ]
        lines.append("".join([f"{operation:<20}", *(f"{cell:>28}" for cell in cells)]))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.growth",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, four minutes in all")
    parser.add_argument("--database", choices=KINDS, help="only this one; both by default")
    parser.add_argument("--repetitions", metavar="N", type=int, default=REPETITIONS)
    parser.add_argument(
        "--json",
        metavar="FILE",
        type=Path,
        help=f"default: {REPORT.relative_to(ROOT)}, but nowhere for a part or a quick run",
    )
    chosen = parser.parse_args()
    results = {}
    with TemporaryDirectory(prefix="ask-bridge-growth-") as folder:
        # Nothing of a site that runs from this folder.
        os.environ.update(clean_environment(Path(folder)), DJANGO_SETTINGS_MODULE="bridge.settings")
        os.environ.pop("DATABASE_URL", None)
        django.setup()
        from bench import growing  # has models, so not before the setup

        sizes = growing.QUICK_SIZES if chosen.quick else growing.SIZES
        for kind in filter(growing.is_there, [chosen.database] if chosen.database else KINDS):
            results[kind] = growing.measure(kind, sizes, chosen.repetitions)
            print(table(kind, results[kind]), end="\n\n", flush=True)
    is_whole = not chosen.quick and len(results) == len(KINDS)
    if report := chosen.json or (REPORT if is_whole else None):
        write(report, chosen.repetitions, results)


def write(report: Path, repetitions: int, results: dict[str, Any]) -> None:
    """The table as JSON, for comparisons."""
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    content = {"machine": machine, "repetitions": repetitions, "databases": results}
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
