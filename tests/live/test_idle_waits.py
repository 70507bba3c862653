"""A waiting agent holds a socket: no thread, no database connection."""

from contextlib import ExitStack
from pathlib import Path

import psycopg

from bridge.handler import THREADS as REQUEST_THREADS
from rooms.conf import DEFAULTS
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.people import Person
from tests.harness.sites import Site
from tests.harness.timing import eventually

WAITS = 200
POOL_THREADS = REQUEST_THREADS + DEFAULTS["DATABASE_THREADS"]


def threads_of(site: Site) -> int:
    return len(list(Path(f"/proc/{site.process.pid}/task").iterdir()))


def open_files_of(site: Site) -> list[str]:
    found = []
    for descriptor in Path(f"/proc/{site.process.pid}/fd").iterdir():
        try:
            found.append(str(descriptor.readlink()))
        except FileNotFoundError:
            continue  # closed between the listing and the look
    return found


def database_connections(bridge: Bridge) -> int:
    """Handles on the SQLite file, or sessions that PostgreSQL sees."""
    if url := bridge.environment.get("DATABASE_URL"):
        with psycopg.connect(url) as connection:
            row = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            ).fetchone()
            assert row
            return int(row[0])
    return sum(path.endswith("ask-bridge.sqlite3") for path in open_files_of(bridge.site))


def sockets_of(site: Site) -> int:
    return sum(path.startswith("socket:") for path in open_files_of(site))


def test_idle_waits_and_streams_add_no_thread_and_no_connection(
    bridge: Bridge, agent: Agent, person: Person
) -> None:
    questions = [agent.ask() for _ in range(10)]
    agent.wait(questions[0]["id"], seconds=0.1)
    site = bridge.site
    threads, connections, sockets = threads_of(site), database_connections(bridge), sockets_of(site)
    with ExitStack() as stack:
        waits = [stack.enter_context(agent.waiting(questions[number % 10]["id"])) for number in range(WAITS)]
        for _ in range(20):
            stack.enter_context(bridge.person("ana", site).stream(agent.room))
        eventually(lambda: sockets_of(site) >= WAITS + 20)
        eventually(lambda: agent.read(questions[9]["id"])["agent"]["active"])
        # The pools of requests and of database jobs may have grown to their sizes meanwhile, whatever the
        # number of waits.
        assert threads_of(site) <= threads + POOL_THREADS
        assert database_connections(bridge) <= connections + POOL_THREADS
        for question in questions:
            person.answer(question, "SQLite")
        assert {wait.result()["status"] for wait in waits} == {"answered"}
    # With PostgreSQL a database connection is a socket, too.
    eventually(lambda: sockets_of(site) <= sockets + POOL_THREADS)
