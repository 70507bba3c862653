"""Many pages and many agents on one process for a long time: they cost sockets, and nothing that grows."""

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

# Of its own: below the rate of asks that one key may have.
QUESTIONS_PER_ROOM = 250
# So that whoever clicks stays below it, too, however quick the site is.
PAUSE_SECONDS = 0.12
# How long people and agents who left may still cost anything.
RELEASE_SECONDS = 5
STOP_SECONDS = 5
MEMORY_GROWTH = 0.1
# More than a process has threads of each kind, and longer than it needs to begin them.
ASKS_AT_ONCE = 16
HELD_UP_SECONDS = 1
# Connections that the test's own requests leave behind for a moment.
SPARE_SOCKETS = 5


@dataclass(frozen=True)
class Sample:
    threads: int
    database_handles: int
    memory_bytes: int


def hold(folder: Path, streams: int, waits: int, warm_up_seconds: float, seconds: float) -> None:
    """Constant while they stay, released when they leave, and told to come back when the process stops."""
    rooms = [f"room-{number}" for number in range(1 + -(-waits // QUESTIONS_PER_ROOM))]
    with running_bridge("embedded", folder, rooms) as bridge, connections_to(bridge.site.port) as crowd:
        busy = bridge.agent()
        everybody = Everybody(bridge, crowd, streams, waits)
        start_all_threads(busy, folder / "ask-bridge.sqlite3")
        sockets = resources.sockets(bridge.site)
        everybody.come()

        samples, clicks = [], []
        started = time.monotonic()
        while (elapsed := time.monotonic() - started) < warm_up_seconds + seconds:
            clicks.append(click_to_agent(busy, bridge))
            time.sleep(PAUSE_SECONDS)
            if elapsed > warm_up_seconds:
                samples.append(sample(bridge.site))
        assert not crowd.last_words, "waits ended although nobody had answered"
        seen = crowd.events

        crowd.leave()
        left_at = time.monotonic()
        eventually(lambda: resources.sockets(bridge.site) <= sockets + SPARE_SOCKETS, RELEASE_SECONDS)
        eventually(lambda: not everybody.active_agents(), RELEASE_SECONDS)
        released_after = time.monotonic() - left_at
        after = sample(bridge.site)

        everybody.come()
        stopped_after, errors = stop(bridge.site)
        eventually(crowd.is_gone)

    first, last = samples[0], samples[-1]
    growth = last.memory_bytes / first.memory_bytes - 1
    report(
        f"load, SQLite: {streams} streams and {waits} waits for {seconds:.0f} s: {first.threads} threads, "
        f"{first.database_handles} database handles, {first.memory_bytes / 2**20:.0f} MiB "
        f"({growth:+.1%}), {seen:,} events, click to agent {percentiles(clicks)}; "
        f"released after {released_after:.1f} s; stopped after {stopped_after:.1f} s, "
        f"waits {dict(crowd.last_words)}, {crowd.streams_ended} streams ended"
    )
    kept = {(one.threads, one.database_handles) for one in samples}
    assert kept == {(after.threads, after.database_handles)}, kept
    assert growth < MEMORY_GROWTH
    assert stopped_after < STOP_SECONDS
    assert crowd.last_words == {(503, "1"): waits}
    assert crowd.streams_ended == streams
    assert errors == "", errors
    assert seen >= streams * len(clicks)


class Everybody:
    """Pages of a few people, and agents that each wait for a question of their own."""

    def __init__(self, bridge: Bridge, crowd: ManyConnections, streams: int, waits: int) -> None:
        self.bridge, self.crowd, self.streams = bridge, crowd, streams
        self.cookies = [bridge.person(username).cookies["sessionid"] for username in PEOPLE]
        self.questions: list[tuple[Agent, Any]] = []
        while len(self.questions) < waits:
            if len(self.questions) % QUESTIONS_PER_ROOM == 0:
                agent = bridge.agent()
            self.questions.append((agent, agent.ask()))

    def come(self) -> None:
        self.crowd.open_streams(self.cookies, self.streams)
        self.crowd.open_waits([(agent.key, question["id"]) for agent, question in self.questions])
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
    """One question from ask to answer in the middle of all this; every page sees it."""
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
    """Threads begin when the others do not keep up, as while the database is held up; later none is new."""
    # In the threads for requests, and in those for who waits.
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
    """How long it took to leave politely, and what it complained about in its life."""
    started = time.monotonic()
    code, errors = site.stop()
    assert code == 0
    return time.monotonic() - started, errors
