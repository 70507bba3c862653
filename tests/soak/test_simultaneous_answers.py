"""Ten thousand clicks on two hundred questions."""

from pathlib import Path

import pytest

from tests.faults.simultaneous_answers import click_all_at_once
from tests.harness.bridges import PEOPLE, running_bridge


@pytest.mark.parametrize("kind", ["embedded", "scaled"])
def test_two_hundred_questions_have_one_winner_each(kind: str, tmp_path: Path) -> None:
    with running_bridge(kind, tmp_path / "data", ["room-0"]) as bridge:
        people = [bridge.person(username) for username in PEOPLE]
        click_all_at_once(bridge, bridge.agent(), people, count=200)
