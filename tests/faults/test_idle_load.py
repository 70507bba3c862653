"""An open page or a waiting agent costs a socket, and nothing that grows."""

from pathlib import Path

from tests.faults.idle_load import hold


def test_three_hundred_pages_and_two_hundred_agents_cost_nothing_that_grows(tmp_path: Path) -> None:
    hold(tmp_path / "data", streams=300, waits=200, warm_up_seconds=3, seconds=8)
