"""Outages of Redis and PostgreSQL: nothing confirmed is lost, and no process needs a restart."""

from collections.abc import Iterator

import pytest

from tests.faults.outages import Outages, outages


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outages]:
    with outages(tmp_path_factory.mktemp("outages") / "data") as prepared:
        yield prepared


@pytest.mark.parametrize(("way", "away_seconds"), [("killed", 10), ("frozen", 7)])
def test_no_request_fails_while_redis_is_away(running: Outages, way: str, away_seconds: float) -> None:
    running.of_redis(way, away_seconds)


@pytest.mark.parametrize(("way", "away_seconds"), [("crashed", 0), ("crashed", 8), ("frozen", 7)])
def test_all_requests_are_served_again_when_postgres_is_back(
    running: Outages, way: str, away_seconds: float
) -> None:
    running.of_postgres(way, away_seconds)
