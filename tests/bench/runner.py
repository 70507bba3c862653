"""One run: every target in every round, each time in fresh processes on fresh data."""

import asyncio
import gc
import resource
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.bench.connections import Failed
from tests.bench.plan import Plan
from tests.bench.record import Record
from tests.bench.scenarios import Scenario
from tests.bench.services import Service
from tests.bench.targets import OPEN_FILES, Target

# In this order: what memory one more page or agent costs is seen only in a process that had none before.
SCENARIOS: dict[str, tuple[Callable[[Scenario], Awaitable[None]], bool]] = {
    # name: what it does, and whether it begins with a new process
    "viewers": (Scenario.measure_viewers, True),
    "asks": (Scenario.measure_asks, True),
    "agents": (Scenario.measure_agents, False),
    "return": (Scenario.measure_return, True),
}
# Those of them that need no questions.
FAN_OUT = ("viewers", "return")


def run(plan: Plan, targets: Sequence[Target], only: Collection[str]) -> Record:
    """Interleaved, so that whatever else this machine does meets all of them alike."""
    _allow_many_files()
    record = Record()
    for round_number in range(plan.rounds):
        # Another one begins each time.
        turn = round_number % len(targets)
        for target in (*targets[turn:], *targets[:turn]):
            # The others need minutes to get to the edge, and no ratio rests on how they do there.
            own_plan = plan if target.is_ours or round_number == 0 else plan.without_edge()
            where = f"round {round_number + 1}/{plan.rounds}  {target.label}"
            with tempfile.TemporaryDirectory(prefix="ask-bridge-bench-") as folder, _told(record, where):
                _measure(target, Path(folder), own_plan, record, only, where)
    return record


def _measure(
    target: Target, folder: Path, plan: Plan, record: Record, only: Collection[str], where: str
) -> None:
    names = [name for name in SCENARIOS if name in only and (not target.fans_out_only or name in FAN_OUT)]
    with target.open(folder) as service:
        try:
            for name in names:
                with _progress(f"{where}: {name}"), _told(record, f"{where}: {name}"):
                    _run_one(name, target.name, service, plan, record)
        finally:
            service.kill()


@contextmanager
def _told(record: Record, what: str) -> Iterator[None]:
    """A failure is told at the end; the rest is worth measuring all the same."""
    try:
        yield
    except (Failed, OSError) as failure:
        record.failures.append(f"{what}: {failure}")


def _run_one(name: str, target: str, service: Service, plan: Plan, record: Record) -> None:
    measure, wants_new_process = SCENARIOS[name]
    if wants_new_process:
        service.kill()
    if not service.servers:
        service.start()

    async def measured() -> None:
        scenario = Scenario(target, service, plan, record)
        scenario.connect()
        gc.disable()  # it would be a pause of ours in the middle of a measurement
        try:
            await measure(scenario)
        finally:
            gc.enable()
            scenario.disconnect()

    asyncio.run(measured())


@contextmanager
def _progress(line: str) -> Iterator[None]:
    print(f"{line} …", end="", file=sys.stderr, flush=True)
    started = time.monotonic()
    try:
        yield
    finally:
        print(f" {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


def _allow_many_files() -> None:
    """For this process and those that it starts."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
