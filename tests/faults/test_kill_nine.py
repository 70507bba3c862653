"""A 2xx survives `kill -9` of every process, and nothing happens twice because of it."""

from pathlib import Path

import pytest

from tests.faults.killing import AGENTS, kill_again_and_again
from tests.faults.sites import killable


@pytest.mark.parametrize("kind", ["embedded", "scaled"])
def test_what_was_confirmed_survives_thirty_kills(kind: str, tmp_path: Path) -> None:
    rooms = [f"room-{number}" for number in range(AGENTS)]
    with killable(kind, tmp_path / "data", rooms) as bridge:
        kill_again_and_again(bridge, kills=30, seed=9)
