"""`python -m bench`: measure Ask Bridge and its alternatives, and print the ratios."""

import argparse
import json
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import plot, tables
from bench import record as measures
from bench.plan import FULL, QUICK, Plan
from bench.ratios import OURS
from bench.runner import SCENARIOS, run
from bench.targets import TARGETS, Target
from tests.harness.sites import ROOT

# With more than this at work, what is measured waits for its turn.
BUSY_LOAD = 1

EPILOG = """\
example: python -m bench --quick --targets daphne,raw --only agents --output /tmp/bench

Exits with 1 if ours lost an answer or something did not run; figures that miss a goal are only told."""


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    plan = QUICK if options.quick else FULL
    if options.rounds:
        plan = replace(plan, rounds=options.rounds)
    # Servers are ended on the way out, also when this process is told to stop.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    targets = _available(options.targets)
    if not targets:
        return 1
    if os.getloadavg()[0] > BUSY_LOAD:
        print("This machine is busy with something else: the figures will be rough.", file=sys.stderr)
    started = time.monotonic()
    try:
        record = run(plan, targets, options.only)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    _report(plan, record, targets, time.monotonic() - started, options.output)
    for failure in record.failures:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if record.failures or record.total(measures.LOST, OURS) else 0


def _available(names: list[str]) -> list[Target]:
    """Those that can run here; of the others one line says what to install."""
    found = []
    for target in (TARGETS[name] for name in names):
        if missing := target.missing():
            print(f"left out: {target.label}: needs {missing}", file=sys.stderr)
        else:
            found.append(target)
    return found


def _report(plan: Plan, record: measures.Record, targets: list[Target], seconds: float, output: Path) -> None:
    told = "\n\n".join([tables.goals_table(plan, record), tables.figures_table(plan, record, targets)])
    print(f"\n{told}")
    output.mkdir(parents=True, exist_ok=True)
    document = tables.as_json(plan, record, targets, seconds)
    (output / "bench.json").write_text(json.dumps(document, indent=1) + "\n")
    (output / "bench.md").write_text(f"{told}\n")
    (output / "bench.svg").write_text(plot.draw(plan, record, targets))
    print(f"\n{seconds:.0f} seconds; bench.json, bench.md and bench.svg are in {output}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="How quickly an answer travels, how many can wait at once and how the cost grows: "
        "as ratios in one run against what people would use instead.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="small numbers, to try it in about a minute")
    parser.add_argument("--rounds", type=int, help="how often every target is measured (3, quick: 1)")
    parser.add_argument(
        "--targets",
        type=_some_of(TARGETS),
        default=list(TARGETS),
        metavar="NAME,…",
        help=f"of {', '.join(TARGETS)} (all)",
    )
    parser.add_argument(
        "--only",
        type=_some_of(SCENARIOS),
        default=list(SCENARIOS),
        metavar="SCENARIO,…",
        help=f"of {', '.join(SCENARIOS)} (all)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=ROOT / "docs" / "performance",
        metavar="FOLDER",
        help="where the files go (docs/performance)",
    )
    return parser


def _some_of(known: dict[str, Any]) -> Any:
    def names(text: str) -> list[str]:
        chosen = text.split(",")
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(known)}")
        return chosen

    return names


if __name__ == "__main__":
    sys.exit(main())
