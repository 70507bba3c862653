"""The benchmark works and loses no answer; durations are not tested."""

import pytest

from bench import plot, tables
from bench import record as measures
from bench.plan import TINY
from bench.record import Record
from bench.runner import SCENARIOS, run
from bench.targets import TARGETS, Target


@pytest.fixture(scope="module")
def targets() -> list[Target]:
    """Ours, and django-eventstream where it is installed."""
    chosen = (TARGETS["daphne"], TARGETS["eventstream-daphne"])
    return [target for target in chosen if not target.missing()]


@pytest.fixture(scope="module")
def record(targets: list[Target]) -> Record:
    """In those scenarios that do with one process: a start is what takes longest here."""
    return run(TINY, targets, ("viewers", "agents"))


def test_every_answer_reaches_agents_and_pages(record: Record, targets: list[Target]) -> None:
    assert not record.failures
    assert record.total(measures.LOST, TARGETS) == 0
    reached = {measures.agent_p50(count) for count in TINY.agents}
    reached |= {measures.last_viewer(count) for count in TINY.viewers}
    for target in targets:
        assert reached <= record.values[target.name].keys()


def test_every_scenario_runs() -> None:
    measured = run(TINY, [TARGETS["raw"]], SCENARIOS)
    assert not measured.failures
    assert measured.total(measures.LOST, TARGETS) == 0
    assert {measures.ASK_CPU, measures.come_back(TINY.returning)} <= measured.values["raw"].keys()


def test_tables_and_plot_show_what_was_measured(record: Record, targets: list[Target]) -> None:
    assert "answers lost" in tables.goals_table(TINY, record)
    assert measures.agent_p50(TINY.agents[1]) in tables.figures_table(TINY, record, targets)
    drawn = plot.draw(TINY, record, targets)
    assert drawn.startswith("<svg ")
    assert all(target.label in drawn for target in targets)
