"""Three hundred kills: every confirmed write is stored once."""

from pathlib import Path

import pytest

from tests.faults.kills import AGENTS, kill_repeatedly
from tests.faults.restarts import restartable_bridge


@pytest.mark.parametrize("kind", ["embedded", "scaled"])
def test_what_was_confirmed_survives_three_hundred_kills(kind: str, tmp_path: Path) -> None:
    rooms = [f"room-{number}" for number in range(AGENTS)]
    with restartable_bridge(kind, tmp_path / "data", rooms) as bridge:
        kill_repeatedly(bridge, kills=300, seed=99)
