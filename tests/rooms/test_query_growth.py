"""Query counts and plans: the cost of a request does not grow with stored data or with open pages.

Counted in queries, plans and renders, which are the same on every machine. `python -m bench.growth`
measures times.
"""

import asyncio
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import Any

import pytest
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.test.signals import template_rendered
from django.test.utils import CaptureQueriesContext

from bench.operations import Operations
from rooms import lifecycle
from rooms.db.pool import in_database
from rooms.live.hub import hub
from rooms.management import demo
from rooms.models import Answer, Question, Room
from tests.harness.database_pool import close_pool_connections
from tests.harness.page_streams import Page, grant_of, stream_to

pytestmark = pytest.mark.skipif(connection.vendor == "mysql", reason="plans of PostgreSQL and SQLite")

# The tables that grow for ever.
HISTORY = "ask_bridge_(question|answer|ending|message|auditentry)"


@pytest.fixture(autouse=True)
def one_look_at_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep looks at the schema every few seconds: here only once, before anything is counted."""
    monkeypatch.setattr("rooms.db.schema.LOOK_SECONDS", math.inf)


def seed(room: Room, entries: int, open_count: int = 3) -> None:
    for _ in demo.fill(room, entries, open_count, days=90, random=Random(1)):
        pass
    room.refresh_from_db()


def queries_of(operations: Operations) -> dict[str, int]:
    """How many queries each operation takes, once everything that is remembered has been seen."""
    for operation in operations.all():
        operation.act(operation.prepare())
    counts = {}
    for operation in operations.all():
        ready = operation.prepare()
        with CaptureQueriesContext(connection) as queries:
            operation.act(ready)
        counts[operation.name] = len(queries)
    return counts


# ---- the past --------------------------------------------------------------------------------------------


def test_queries_do_not_grow_with_the_past(room: Room) -> None:
    seed(room, 20)
    before = queries_of(Operations(room))
    seed(room, 2_000)
    assert queries_of(Operations(room)) == before


def test_queries_do_not_grow_with_open_questions(room: Room) -> None:
    seed(room, 20, open_count=3)
    before = queries_of(Operations(room))
    seed(room, 150, open_count=150)
    assert queries_of(Operations(room)) == before


def test_queries_do_not_grow_with_rooms_and_people(room: Room, ana: Any, django_user_model: Any) -> None:
    def add_rooms(numbers: range) -> None:
        people = [django_user_model.objects.create_user(f"person-{number}") for number in numbers]
        for number in numbers:
            seed(lifecycle.create_room(f"room-{number}", members=[ana, *people[:5]]), 5, open_count=1)

    seed(room, 20)
    add_rooms(range(2))
    before = queries_of(Operations(room))
    add_rooms(range(2, 50))
    assert queries_of(Operations(room)) == before


# What a statement does, and to which table.
STATEMENT = re.compile(r'(SELECT|INSERT|UPDATE)\b.*?"(?:ask_bridge|auth|django)_(\w+)"')


def statements_of(operations: Operations, name: str) -> list[str]:
    """Those of one operation, without the frame of its transaction, once what is remembered has been seen."""
    (operation,) = (operation for operation in operations.all() if operation.name == name)
    operation.act(operation.prepare())
    ready = operation.prepare()
    with CaptureQueriesContext(connection) as queries:
        operation.act(ready)
    found = (STATEMENT.match(query["sql"]) for query in queries)
    return [" ".join(statement.groups()) for statement in found if statement]


def test_an_ask_and_a_click_take_no_statement_more_than_they_need(room: Room) -> None:
    operations = Operations(room)
    assert statements_of(operations, "ask") == [
        "SELECT agentkey",
        "SELECT question",  # how many within this minute
        "UPDATE room",
        "INSERT auditentry",
        "INSERT question",
    ]
    assert statements_of(operations, "answer") == [
        "SELECT session",
        "SELECT user",
        "SELECT question",
        "SELECT membership",
        "SELECT preferences",  # whether this person's answers can be undone
        "SELECT answer",  # how many within this minute
        "UPDATE room",
        "INSERT auditentry",
        "UPDATE question",
        "INSERT answer",
    ]


# ---- plans -----------------------------------------------------------------------------------------------


@contextmanager
def recorded() -> Iterator[list[tuple[str, Any]]]:
    """Statements on tables that grow, as they are sent."""
    statements: list[tuple[str, Any]] = []

    def record(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if re.match("SELECT|UPDATE|DELETE", sql) and re.search(HISTORY, sql):
            statements.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(record):
        yield statements


def plan_of(sql: str, params: Any) -> str:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
            return "\n".join(row[3] for row in cursor.fetchall())
        # Small tables are read as they are, whatever indexes they have.
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {sql}", params)
        return "\n".join(row[0] for row in cursor.fetchall())


def plans_of(operations: Operations, name: str) -> str:
    (operation,) = [operation for operation in operations.all() if operation.name == name]
    ready = operation.prepare()
    with recorded() as statements:
        operation.act(ready)
    return "\n\n".join(f"{sql}\n{plan_of(sql, params)}" for sql, params in statements)


def test_nothing_that_happens_all_day_reads_the_whole_history(room: Room) -> None:
    seed(room, 500)
    operations = Operations(room)
    for operation in operations.all():
        # An admin's list says how many there are, and counts them for that.
        if not operation.name.startswith("admin"):
            plans = plans_of(operations, operation.name)
            # These indexes have no settled questions.
            scans = (
                rf"(SCAN|Seq Scan on) {HISTORY}\b(?! USING COVERING INDEX ask_bridge_q_(inbox|unattended))"
            )
            assert not re.search(scans, plans), f"{operation.name}:\n{plans}"


by_size = pytest.mark.skipif(
    connection.vendor == "postgresql", reason="PostgreSQL chooses by size, and these tables are small"
)


@by_size
@pytest.mark.parametrize(
    ("operation", "index"),
    [
        ("room page", "ask_bridge_q_timeline"),
        ("room page", "ask_bridge_q_status"),
        ("older page", "ask_bridge_q_timeline"),
        ("inbox", "ask_bridge_q_unattended"),
        ("ask", "ask_bridge_q_rate"),
        ("answer", "ask_bridge_a_rate"),
        ("replay of 50", "ask_bridge_q_replay"),
        ("sweep, nothing due", "ask_bridge_q_due"),
        ("sweep, nothing due", "ask_bridge_q_lease"),
        ("sweep, nothing due", "ask_bridge_q_closes"),
        ("inbox", "ask_bridge_q_attended"),
    ],
)
def test_hot_queries_use_the_index_that_was_made_for_them(room: Room, operation: str, index: str) -> None:
    seed(room, 500, open_count=100)
    plans = plans_of(Operations(room), operation)
    assert index in plans, plans


@by_size
def test_sweeps_take_what_is_due_in_the_order_of_their_index(room: Room) -> None:
    seed(room, 100, open_count=50)
    plans = plans_of(Operations(room), "sweep, nothing due")
    assert "TEMP B-TREE" not in plans, plans


@by_size
def test_the_open_questions_of_a_key_are_read_from_an_index_of_open_ones(room: Room) -> None:
    seed(room, 100, open_count=50)
    with recorded() as statements:
        lifecycle.asked_with(room.keys.all()[0].pk)
    (plan,) = [plan_of(sql, params) for sql, params in statements]
    assert "ask_bridge_q_asker" in plan, plan
    assert "TEMP B-TREE" not in plan, plan


# ---- who watches -----------------------------------------------------------------------------------------


class Meter:
    """What happens in all threads: queries, rendered templates."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counts: Counter[str] = Counter()
        execute = CursorWrapper.execute

        def count_and_execute(cursor: CursorWrapper, *args: Any, **options: Any) -> Any:
            self.counts["queries"] += 1
            return execute(cursor, *args, **options)

        monkeypatch.setattr(CursorWrapper, "execute", count_and_execute)

    def count_render(self, template: Any, **signal: Any) -> None:
        self.counts[template.name] += 1


@pytest.fixture
def meter(monkeypatch: pytest.MonkeyPatch) -> Iterator[Meter]:
    meter = Meter(monkeypatch)
    template_rendered.connect(meter.count_render)
    yield meter
    template_rendered.disconnect(meter.count_render)


async def _cost_of_an_answer(
    meter: Meter, room: Room, question: Question, user: Any, viewer_count: int
) -> dict[str, int]:
    """Queries, renders and new threads of one answer that so many pages see."""
    await close_pool_connections()
    await in_database(room.refresh_from_db)
    pages = [Page() for _ in range(viewer_count)]
    streams = [stream_to(page, grant_of(f"person-{number}", [room])) for number, page in enumerate(pages)]
    for stream in streams:
        await hub.add_stream(stream, [room])
        stream._early = None
    try:
        meter.counts.clear()
        threads = threading.active_count()
        choices = [{"question": question.prompts[0]["question"], "selectedOptions": ["SQLite"]}]
        await in_database(partial(lifecycle.answer, question, choices, via=Answer.Via.WEB, user=user))
        hub.receive({"room_id": room.pk, "settled": question.pk})
        for page in pages:
            await page.until_sent(b"event: count-")
        assert len({b"".join(page.sent) for page in pages}) == 1
        return {**meter.counts, "new threads": threading.active_count() - threads}
    finally:
        for stream in streams:
            hub.remove_stream(stream)
        await close_pool_connections()


@pytest.mark.django_db(transaction=True)
def test_an_answer_costs_the_same_for_one_viewer_and_for_fifty(
    ask: Callable[..., Question], room: Room, ana: Any, meter: Meter
) -> None:
    costs = [
        asyncio.run(_cost_of_an_answer(meter, room, ask(), ana, viewer_count)) for viewer_count in (1, 50)
    ]
    assert costs[0] == costs[1]
    # One card for the person who answered and one for all others.
    assert costs[0]["ask_bridge/_card.html"] == 2
    assert costs[0]["new threads"] == 0
