"""Bridges of different sizes, each in a database of its own, and the durations of operations in them."""

import os
import shutil
import sys
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory

import psycopg
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import load_backend
from django.test.utils import CaptureQueriesContext

from bench.operations import Operations
from bridge import service_urls
from rooms import lifecycle
from rooms.history import earlier_answers, writer
from rooms.management import demo
from rooms.models import Room
from rooms.notifications import planner
from rooms.timeline import change_feed

POSTGRES = os.environ.get("TEST_DATABASE_URL", "postgres://ask_bridge:ask_bridge@127.0.0.1:5432/ask_bridge")
# In the room where everything is measured.
PEOPLE = 20
# Of the past that the rooms have.
DAYS = 120
# In every other room, one of them an open question.
ENTRIES_ELSEWHERE = 20

# Until the background readers have read all entries; a million take some minutes.
LONG_ENOUGH_SECONDS = 3_600

# By operation and size: milliseconds by the clock, of this process's CPU, and queries.
Figures = dict[str, dict[str, dict[str, float]]]


@dataclass(frozen=True)
class Size:
    """How much there is: in the one room where everything is measured, and around it."""

    name: str
    entries: int = 100
    open: int = 3
    # All rooms, and those of them that our person is a member of.
    rooms: int = 3
    own_rooms: int = 3


SIZES = (
    Size("100 entries"),
    Size("10,000 entries", entries=10_000),
    Size("1,000,000 entries", entries=1_000_000),
    Size("1,000 rooms", rooms=1_000),
    Size("in 200 rooms", rooms=200, own_rooms=200),
    Size("10,000 open", entries=10_100, open=10_000),
)
QUICK_SIZES = (
    Size("100 entries"),
    Size("2,000 entries", entries=2_000),
    Size("10,000 entries", entries=10_000),
    Size("50 rooms", rooms=50),
    Size("in 20 rooms", rooms=20, own_rooms=20),
    Size("500 open", entries=600, open=500),
)


@dataclass(frozen=True)
class Bridge:
    """A populated database, and the operations on it."""

    size: Size
    database: BaseDatabaseWrapper
    operations: Operations


def measure(kind: str, sizes: tuple[Size, ...], repetitions: int) -> Figures:
    """Medians of every operation in bridges of these sizes, on this kind of database."""
    with ExitStack() as stack:
        create = stack.enter_context(DATABASES[kind]())
        bridges = []
        for size in sizes:
            began = time.perf_counter()
            database = create()
            stack.callback(database.close)
            bridges.append(Bridge(size, database, populate(size)))
            tell(f"{kind}: {size.name} ready in {time.perf_counter() - began:.0f} s")
        return measure_in_turn(bridges, repetitions)


def measure_in_turn(bridges: list[Bridge], repetitions: int) -> Figures:
    """Each repetition goes through all bridges, beginning with another one each time, so that whatever else
    the machine does hits all alike."""
    figures: Figures = {}
    days = [[*bridge.operations.all(), *bridge.operations.history_operations()] for bridge in bridges]
    for operations in zip(*days, strict=True):
        counts: dict[str, int] = {}
        seconds: dict[str, list[tuple[float, float]]] = {bridge.size.name: [] for bridge in bridges}
        in_turn = deque(zip(bridges, operations, strict=True))
        # Two rounds before the first fill caches, and count.
        for repetition in range(-2, repetitions):
            in_turn.rotate()
            for bridge, operation in in_turn:
                connections[DEFAULT_DB_ALIAS] = bridge.database
                ready = operation.prepare()
                if repetition < 0:
                    with CaptureQueriesContext(bridge.database) as queries:
                        operation.act(ready)
                    counts[bridge.size.name] = len(queries)
                else:
                    began, began_cpu = time.perf_counter(), time.process_time()
                    operation.act(ready)
                    took = time.perf_counter() - began, time.process_time() - began_cpu
                    seconds[bridge.size.name].append(took)
        figures[operations[0].name] = {
            name: {
                "ms": round(1000 * median(wall for wall, _ in took), 2),
                "cpu_ms": round(1000 * median(cpu for _, cpu in took), 2),
                "queries": counts[name],
            }
            for name, took in seconds.items()
        }
        tell(f"measured: {operations[0].name}")
    return figures


def tell(text: str) -> None:
    """Progress on stderr; the table goes to stdout."""
    print(text, file=sys.stderr, flush=True)


# ---- databases -------------------------------------------------------------------------------------------


def use(url: str) -> BaseDatabaseWrapper:
    """From now on everything happens in this database, with the site's own options for it."""
    os.environ["GROWTH_DATABASE_URL"] = url
    config = service_urls.database("GROWTH_DATABASE_URL", Path())
    settings = connections.configure_settings({DEFAULT_DB_ALIAS: config})[DEFAULT_DB_ALIAS]
    database = load_backend(settings["ENGINE"]).DatabaseWrapper(settings, DEFAULT_DB_ALIAS)
    connections[DEFAULT_DB_ALIAS] = database
    return database


def migrate(url: str) -> None:
    """Make the tables; the others are copies of this database."""
    use(url)
    call_command("migrate", verbosity=0)
    call_command("createcachetable", verbosity=0)
    connection.close()


@contextmanager
def sqlite_databases() -> Iterator[Callable[[], BaseDatabaseWrapper]]:
    """A function that makes empty databases; all of them are gone in the end."""
    with TemporaryDirectory(prefix="ask-bridge-growth-") as folder:
        template = Path(folder, "template.sqlite3")
        migrate(f"sqlite:///{template}")

        def create() -> BaseDatabaseWrapper:
            copied = shutil.copy(template, template.with_name(f"{uuid.uuid4().hex}.sqlite3"))
            return use(f"sqlite:///{copied}")

        yield create


@contextmanager
def postgres_databases() -> Iterator[Callable[[], BaseDatabaseWrapper]]:
    """The same on the PostgreSQL server that the tests use."""
    template = f"ask_bridge_growth_{uuid.uuid4().hex[:8]}"
    server = POSTGRES.rpartition("/")[0]
    names = [template]
    with psycopg.connect(POSTGRES, dbname="postgres", autocommit=True) as admin:

        def create() -> BaseDatabaseWrapper:
            names.append(f"{template}_{len(names)}")
            admin.execute(f'CREATE DATABASE "{names[-1]}" TEMPLATE "{template}"')
            return use(f"{server}/{names[-1]}")

        try:
            admin.execute(f'CREATE DATABASE "{template}"')
            migrate(f"{server}/{template}")
            yield create
        finally:
            for name in names:
                admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def is_there(kind: str) -> bool:
    """Whether databases of this kind can be made here."""
    try:
        if kind == "postgresql":
            psycopg.connect(POSTGRES, dbname="postgres", connect_timeout=3).close()
    except psycopg.OperationalError as problem:
        tell(f"PostgreSQL is out of reach and left out: {problem}")
        return False
    return True


DATABASES = {"sqlite": sqlite_databases, "postgresql": postgres_databases}


# ---- what is in them -------------------------------------------------------------------------------------


def populate(size: Size) -> Operations:
    """People, rooms and their past, in the database that is in use."""
    users = get_user_model().objects
    ana = users.create_user("ana", first_name="Ana", last_name="Costa")
    people = [ana, *(users.create_user(f"person-{number}") for number in range(1, PEOPLE))]
    for number in range(1, size.rooms):
        members = people if number < size.own_rooms else people[1:3]
        _seed(lifecycle.create_room(f"room-{number:04}", members=members), ENTRIES_ELSEWHERE, 1)
    room = lifecycle.create_room("ops", members=people)
    _seed(room, size.entries, size.open)
    writer.catch_up(LONG_ENOUGH_SECONDS)
    while any(change_feed.changes_for(earlier_answers.READER)):  # a batch at a time
        earlier_answers.catch_up(LONG_ENOUGH_SECONDS)
    for _ in range(size.entries // change_feed.BATCH + 1):
        planner.read()
    if connection.vendor == "postgresql":
        # As autovacuum does in the life of a real database.
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
    room.refresh_from_db()
    return Operations(room)


def _seed(room: Room, entries: int, open_count: int) -> None:
    for _ in demo.fill(room, entries, open_count, DAYS, Random()):
        pass
