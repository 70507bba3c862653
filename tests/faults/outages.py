"""Outages of Redis or PostgreSQL under ordinary traffic."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.faults.restarts import RestartableBridge, restartable_bridge
from tests.faults.servers import OwnPostgres, OwnRedis, own_postgres, own_redis
from tests.faults.traffic import Traffic, request_in_time
from tests.harness.figures import percentile, percentiles, report
from tests.harness.sites import Site
from tests.harness.timing import eventually

BEFORE_SECONDS = 2
AFTER_SECONDS = 6
# All clients are served again this long after the return.
RECOVERY_SECONDS = 5
# A probe reports the outage this long after it began.
NOTICED_SECONDS = 1


@dataclass
class Outages:
    """A bridge of two processes whose Redis and PostgreSQL can be taken away."""

    redis: OwnRedis
    postgres: OwnPostgres
    bridge: RestartableBridge

    def of_redis(self, way: str, away_seconds: float) -> None:
        """Without Redis hints are lost between processes: they look again, and nothing fails."""
        ways = {
            "killed": (self.redis.crash, self.redis.start),
            "frozen": (self.redis.freeze, self.redis.thaw),
        }
        with self.logged_briefly("The channel layer", at_least=1):
            traffic, gone_at, back_at = take_away(self.bridge, f"Redis {way},", away_seconds, *ways[way])
        assert set(traffic.statuses("ask")) == {201}, traffic.statuses("ask")
        assert set(traffic.statuses("answer")) == {303}, traffic.statuses("answer")
        assert max(traffic.lags()) < RECOVERY_SECONDS, "not even the outage itself may cost more"
        said = traffic.readiness_between(gone_at + NOTICED_SECONDS, gone_at + away_seconds)
        assert said == {'503 {"database": "ok", "channel_layer": "unreachable"}'}, said
        later = traffic.lags(answered_after=back_at + RECOVERY_SECONDS)
        assert percentile(later, 0.9) < 1, "hints did not come back"

    @contextmanager
    def logged_briefly(self, service: str, at_least: int) -> Iterator[None]:
        """Each process logs its begin and its end in a line each, however many requests fail meanwhile."""
        earlier = [len(site.complaints) for site in self.bridge.sites]

        def lines(text: str) -> list[int]:
            return [
                sum(text in line for line in site.complaints[start:])
                for site, start in zip(self.bridge.sites, earlier, strict=True)
            ]

        yield
        begun = lines(f"{service} is out of reach")
        # Twice if the server comes back, goes on too slowly for a probe, and comes back again.
        assert sum(begun) >= at_least
        assert max(begun) <= 2, begun
        eventually(lambda: lines(f"{service} is back") == begun)
        for site, start in zip(self.bridge.sites, earlier, strict=True):
            log = "".join(site.complaints[start:])
            assert "Traceback" not in log, log

    def of_postgres(self, way: str, away_seconds: float) -> None:
        """Without a database nothing is confirmed, and everything goes on when it is back."""
        ways = {
            "crashed": (self.postgres.crash, self.postgres.start),
            "frozen": (self.postgres.freeze, self.postgres.thaw),
        }
        with self.logged_briefly("The database", at_least=1 if away_seconds else 0):
            traffic, gone_at, back_at = take_away(self.bridge, f"PostgreSQL {way},", away_seconds, *ways[way])
        assert max(traffic.lags(not_before=back_at)) < RECOVERY_SECONDS
        said = traffic.readiness_between(gone_at + NOTICED_SECONDS, gone_at + away_seconds)
        assert said <= {'503 {"database": "unreachable", "channel_layer": "ok"}'}, said
        assert said or away_seconds < 2 * NOTICED_SECONDS


@contextmanager
def outages(folder: Path) -> Iterator[Outages]:
    with own_redis() as redis, own_postgres() as postgres:
        urls = {"REDIS_URL": redis.url, "DATABASE_URL": postgres.url}
        rooms = [f"room-{number}" for number in range(6)]
        with restartable_bridge("scaled", folder, rooms, **urls) as bridge:
            yield Outages(redis, postgres, bridge)


def take_away(
    bridge: RestartableBridge,
    name: str,
    away_seconds: float,
    leave: Callable[[], None],
    come_back: Callable[[], None],
) -> tuple[Traffic, float, float]:
    """Traffic before, during and after the outage; when it began and when it ended."""
    traffic = Traffic(bridge)
    with traffic.running():
        time.sleep(BEFORE_SECONDS)
        leave()
        gone_at = time.monotonic()
        if away_seconds >= 2 * NOTICED_SECONDS:
            time.sleep(NOTICED_SECONDS)
            traffic.probe_readiness()
        time.sleep(max(0, gone_at + away_seconds - time.monotonic()))
        come_back()
        back_at = time.monotonic()
        eventually(lambda: all(is_ready(site) for site in bridge.sites), seconds=2 * RECOVERY_SECONDS)
        ready_after = time.monotonic() - back_at
        time.sleep(AFTER_SECONDS)
    refused = [
        each.seconds for each in traffic.replies if each.status == 503 and not each.what.startswith("/")
    ]
    report(
        f"{name} away for {back_at - gone_at:.1f} s: {len(traffic.asked)} questions, "
        f"asks {traffic.statuses('ask')}, answers {traffic.statuses('answer')}, "
        f"{f'refusals took {percentiles(refused)}, ' if refused else ''}"
        f"ready again after {ready_after:.1f} s; agents and pages lagged {percentiles(traffic.lags())}, "
        f"after the return {percentiles(traffic.lags(not_before=back_at))}"
    )
    traffic.check_replies()
    traffic.check_nothing_lost()
    bridge.check_audit()
    return traffic, gone_at, back_at


def is_ready(site: Site) -> bool:
    return request_in_time(site, "GET", "/readyz").status == 200
