"""Ten minutes of a thousand pages and five hundred agents. SOAK_SECONDS makes it shorter."""

import os
from pathlib import Path

from tests.faults.idle_load import hold


def test_a_thousand_pages_and_five_hundred_agents_cost_nothing_that_grows(tmp_path: Path) -> None:
    seconds = float(os.environ.get("SOAK_SECONDS", "600"))
    hold(tmp_path / "data", streams=1000, waits=500, warm_up_seconds=seconds / 5, seconds=seconds)
