"""Many open pages and waiting agents on one process for a long time: they cost sockets, and nothing grows."""

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults.many_connections import ManyConnections, connections_to
from tests.harness import resources
from tests.harness.agents import Agent
from tests.harness.bridges import PEOPLE, Bridge, running_bridge
from tests.harness.figures import percentiles, report
from tests.harness.sites import Site
from tests.harness.timing import eventually

# Below the rate limit of asks of one key.
QUESTIONS_PER_ROOM = 250
# Keeps the clicks below the rate limit, too.
PAUSE_SECONDS = 0.12
# The time in which resources of closed connections are released.
RELEASE_SECONDS = 5
STOP_SECONDS = 5
MEMORY_GROWTH = 0.1
# More than a process has threads of each kind, and longer than it takes to start them.
ASKS_AT_ONCE = 16
HELD_UP_SECONDS = 1
# Connections of the test's own requests that close a moment later.
SPARE_SOCKETS = 5


@dataclass(frozen=True)
class Sample:
    threads: int
    database_handles: int
    memory_bytes: int


def hold(folder: Path, streams: int, waits: int, warm_up_seconds: float, seconds: float) -> None:
    """Resources stay constant while connections are open, and are released with them; a stop replies 503."""
    rooms = [f"room-{number}" for number in range(1 + -(-waits // QUESTIONS_PER_ROOM))]
    with running_bridge("embedded", folder, rooms) as bridge, connections_to(bridge.site.port) as connections:
        busy = bridge.agent()
        clients = IdleClients(bridge, connections, streams, waits)
        start_all_threads(busy, folder / "ask-bridge.sqlite3")
        sockets = resources.sockets(bridge.site)
        clients.connect()

        samples, clicks = [], []
        started = time.monotonic()
        while (elapsed := time.monotonic() - started) < warm_up_seconds + seconds:
            clicks.append(click_to_agent(busy, bridge))
            time.sleep(PAUSE_SECONDS)
            if elapsed > warm_up_seconds:
                samples.append(sample(bridge.site))
        assert not connections.last_replies, "waits ended without an answer"
        seen = connections.events

        connections.leave()
        left_at = time.monotonic()
        eventually(lambda: resources.sockets(bridge.site) <= sockets + SPARE_SOCKETS, RELEASE_SECONDS)
        eventually(lambda: not clients.active_agents(), RELEASE_SECONDS)
        released_after = time.monotonic() - left_at
        after = sample(bridge.site)

        clients.connect()
        stopped_after, errors = stop(bridge.site)
        eventually(connections.is_empty)

    first, last = samples[0], samples[-1]
    growth = last.memory_bytes / first.memory_bytes - 1
    report(
        f"load, SQLite: {streams} streams and {waits} waits for {seconds:.0f} s: {first.threads} threads, "
        f"{first.database_handles} database handles, {first.memory_bytes / 2**20:.0f} MiB "
        f"({growth:+.1%}), {seen:,} events, click to agent {percentiles(clicks)}; "
        f"released after {released_after:.1f} s; stopped after {stopped_after:.1f} s, "
        f"waits {dict(connections.last_replies)}, {connections.streams_ended} streams ended"
    )
    kept = {(one.threads, one.database_handles) for one in samples}
    assert kept == {(after.threads, after.database_handles)}, kept
    assert growth < MEMORY_GROWTH
    assert stopped_after < STOP_SECONDS
    assert connections.last_replies == {(503, "1"): waits}
    assert connections.streams_ended == streams
    assert errors == "", errors
    assert seen >= streams * len(clicks)


class IdleClients:
    """Pages of a few people, and agents that each wait for a question of their own."""

    def __init__(self, bridge: Bridge, connections: ManyConnections, streams: int, waits: int) -> None:
        self.bridge, self.connections, self.streams = bridge, connections, streams
        self.cookies = [bridge.person(username).cookies["sessionid"] for username in PEOPLE]
        self.questions: list[tuple[Agent, Any]] = []
        while len(self.questions) < waits:
            if len(self.questions) % QUESTIONS_PER_ROOM == 0:
                agent = bridge.agent()
            self.questions.append((agent, agent.ask()))

    def connect(self) -> None:
        self.connections.open_streams(self.cookies, self.streams)
        self.connections.open_waits([(agent.key, question["id"]) for agent, question in self.questions])
        eventually(lambda: self.active_agents() == len(self.questions), seconds=60)

    def active_agents(self) -> int:
        agents = {agent.room: agent for agent, _ in self.questions}.values()
        waiting = 0
        for agent in agents:
            path = f"{agent.path}/questions?status=open&limit=200"
            page = agent.call("GET", path).json()
            waiting += sum(question["agent"]["active"] for question in page["questions"])
            while page["next"]:
                page = agent.call("GET", f"{path}&after={page['next']}").json()
                waiting += sum(question["agent"]["active"] for question in page["questions"])
        return waiting


def click_to_agent(agent: Agent, bridge: Bridge) -> float:
    """Ask and answer one question under the load; each open page gets its events."""
    question = agent.ask()
    with agent.waiting(question["id"]) as wait:
        eventually(lambda: agent.read(question["id"])["agent"]["active"])
        person = bridge.person()
        clicked_at = time.monotonic()
        path = f"/rooms/{question['room']}/questions/{question['id']}/answer"
        assert person.post(path, {"choice-0": "0"}).status == 303
        assert wait.result()["status"] == "answered"
        return time.monotonic() - clicked_at


def start_all_threads(agent: Agent, database: Path) -> None:
    """Start all threads of the pools by blocking the database, so that no new one appears later."""
    # Both in the request pool and in the pool for waits.
    paths = [f"{agent.path}/questions", f"{agent.path}/questions?wait=0.1"] * ASKS_AT_ONCE
    with ThreadPoolExecutor(len(paths)) as pool, closing(sqlite3.connect(database)) as held_up:
        held_up.execute("BEGIN IMMEDIATE")
        asks = [pool.submit(agent.call, "POST", path, agent.question_body()) for path in paths]
        time.sleep(HELD_UP_SECONDS)
        held_up.rollback()
    assert {ask.result().status for ask in asks} == {201}


def sample(site: Site) -> Sample:
    return Sample(resources.threads(site), resources.database_handles(site), resources.memory_bytes(site))


def stop(site: Site) -> tuple[float, str]:
    """Seconds of a clean stop, and everything that the process wrote to stderr."""
    started = time.monotonic()
    code, errors = site.stop()
    assert code == 0
    return time.monotonic() - started, errors
