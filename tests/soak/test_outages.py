"""A minute without Redis and a minute without PostgreSQL."""

from pathlib import Path

import pytest

from tests.faults.outages import outages

AWAY_SECONDS = 60


@pytest.mark.parametrize("way", ["killed", "frozen"])
def test_no_request_fails_while_redis_is_away_for_a_minute(way: str, tmp_path: Path) -> None:
    with outages(tmp_path / "data") as running:
        running.of_redis(way, AWAY_SECONDS)


def test_all_requests_are_served_again_after_a_minute_without_postgres(tmp_path: Path) -> None:
    with outages(tmp_path / "data") as running:
        running.of_postgres("crashed", AWAY_SECONDS)
