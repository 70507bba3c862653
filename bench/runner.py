"""One run: each target in each round, with new processes and new data."""

import asyncio
import gc
import resource
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.connections import Failed
from bench.plan import Plan
from bench.record import Record
from bench.scenarios import Scenario
from bench.services import Service
from bench.targets import OPEN_FILES, Target

SCENARIOS: dict[str, Callable[[Scenario], Awaitable[None]]] = {
    "viewers": Scenario.measure_viewers,
    "asks": Scenario.measure_asks,
    "agents": Scenario.measure_agents,
    "return": Scenario.measure_return,
}
# Those of them that need no questions.
FAN_OUT = ("viewers", "return")
# Takes seconds, in which a machine may be half as quick as in the next: all targets do it by turns.
IN_TURNS = "asks"


@dataclass(frozen=True)
class Opened:
    """A target in one round, with data of its own; its processes come and go with each scenario."""

    target: Target
    service: Service
    plan: Plan
    record: Record
    round_name: str

    def told(self, name: str) -> AbstractContextManager[None]:
        return _told(self.record, f"{self.round_name}  {self.target.label}: {name}")

    def takes_part_in(self, name: str) -> bool:
        return name in FAN_OUT or not self.target.fans_out_only


def run(plan: Plan, targets: Sequence[Target], only: Collection[str]) -> Record:
    """Interleaved, so that whatever else this machine does meets all of them alike."""
    _allow_many_files()
    record = Record()
    for number in range(plan.rounds):
        # Another one begins each time.
        turn = number % len(targets)
        with ExitStack() as stack:
            opened = []
            for target in (*targets[turn:], *targets[:turn]):
                round_name = f"round {number + 1}/{plan.rounds}"
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="ask-bridge-bench-"))
                # The others need minutes to get to the edge, and no ratio rests on how they do there.
                own_plan = plan if target.is_ours or number == 0 else plan.without_edge()
                with _told(record, f"{round_name}  {target.label}"):
                    service = stack.enter_context(target.open(Path(folder)))
                    opened.append(Opened(target, service, own_plan, record, round_name))
            for name in filter(only.__contains__, SCENARIOS):
                measure = _measure_in_turns if name == IN_TURNS else _measure
                measure(name, [one for one in opened if one.takes_part_in(name)])
    return record


def _measure(name: str, opened: list[Opened]) -> None:
    """Each in processes of its own, soon after each other."""
    for one in opened:
        try:
            with _progress(f"{one.round_name}  {one.target.label}: {name}"), one.told(name):
                one.service.start()
                asyncio.run(_run(name, [one], SCENARIOS[name]))
        finally:
            one.service.kill()


def _measure_in_turns(name: str, opened: list[Opened]) -> None:
    """All of them at the same time there, one after the other at work."""
    with ExitStack() as stack:
        started = []
        for one in opened:
            stack.callback(one.service.kill)
            with one.told(name):
                one.service.start()
                started.append(one)
        if started:
            with _progress(f"{started[0].round_name}  {name} by turns"):
                asyncio.run(_run_in_turns(name, started))


async def _run_in_turns(name: str, opened: list[Opened]) -> None:
    await _run(name, opened, Scenario.warm_up)
    for _ in range(opened[0].plan.bursts):
        await _run(name, opened, SCENARIOS[name])


async def _run(name: str, opened: list[Opened], act: Callable[[Scenario], Awaitable[None]]) -> None:
    for one in opened:
        scenario = Scenario(one.target.name, one.service, one.plan, one.record)
        scenario.connect()
        gc.disable()  # it would be a pause of ours in the middle of a measurement
        try:
            with one.told(name):
                await act(scenario)
        finally:
            gc.enable()
            scenario.disconnect()


@contextmanager
def _told(record: Record, what: str) -> Iterator[None]:
    """A failure is told at the end; the rest is worth measuring all the same."""
    try:
        yield
    except (Failed, OSError) as failure:
        record.failures.append(f"{what}: {failure}")


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
