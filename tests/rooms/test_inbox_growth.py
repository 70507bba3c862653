"""The inbox with many open questions: what it finds and counts comes from indexes alone, on each database."""

import re
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext

from rooms import lifecycle
from rooms.management import demo
from rooms.models import Question, Room

pytestmark = [
    pytest.mark.skipif(
        connection.vendor == "postgresql", reason="PostgreSQL chooses by size, and these tables are small"
    ),
    # MariaDB's ANALYZE commits.
    pytest.mark.django_db(transaction=connection.vendor == "mysql"),
]

ADDRESSES = ["/", "/?room=ops", "/?agent=deploy-bot", "/?mine=1", "/?unattended=1", "/rooms"]
QUESTIONS = re.compile(r"FROM .ask_bridge_question.")
# A few rows by their ids, or of the few questions that are careful or held.
FEW = re.compile(
    r"(sqlite_autoindex_ask_bridge_question_\d \(id=|PRIMARY|ask_bridge_q_careful|ask_bridge_q_held)"
)


@pytest.fixture
def busy_room(room: Room, ask: Callable[..., Question], ana: Any, ben: Any) -> Room:
    """With a past, 200 questions that agents wait for, 200 that none waits for, and a few careful ones."""
    ask(care={"first": ["ben"]})
    ask(care={"votes": 2})
    held = ask(care={"undo_seconds": 300})
    choices = [{"question": held.prompts[0]["question"], "selectedOptions": ["SQLite"]}]
    lifecycle.answer(held, choices, via="web", user=ben)
    for _ in demo.fill(room, 800, 400, 90, Random(1)):
        pass
    for number in range(20):
        lifecycle.create_room(f"room-{number}", members=[ana])
    left = Question.objects.unattended().values_list("pk", flat=True)[:200]
    Question.objects.filter(pk__in=list(left)).update(is_attended=True, agent_active=True)
    if connection.vendor == "mysql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE TABLE ask_bridge_question")
            cursor.fetchall()
    room.refresh_from_db()
    return room


def steps_of(sql: str) -> list[str]:
    """How the rows of the question table are read, one line for each step."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
            return [row[3] for row in cursor.fetchall() if re.search("question|TEMP", row[3])]
        cursor.execute(f"EXPLAIN {sql}")
        names = [column[0] for column in cursor.description]
        found = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        return [f"{step['key']}: {step['Extra']}" for step in found if step["table"] == "ask_bridge_question"]


def reads_many_rows(steps: list[str]) -> bool:
    """Whether rows are read and not only an index, or sorted; a few of them may be."""
    if any(FEW.search(step) for step in steps):
        return False
    is_from_index = all(re.search(r"COVERING INDEX|Using index\b(?! condition)", step) for step in steps)
    return not is_from_index or any(re.search("filesort", step) for step in steps)


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_inbox_reads_no_rows_of_questions_that_it_does_not_show(
    browser: Client, busy_room: Room, address: str
) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert browser.get(address).status_code == 200
    statements = [query["sql"] for query in queries if QUESTIONS.search(query["sql"])]
    assert len(statements) >= 3
    plans = {sql: steps_of(sql) for sql in statements}
    assert not {sql: steps for sql, steps in plans.items() if reads_many_rows(steps)}


def test_the_inbox_counts_what_it_leaves_out(browser: Client, busy_room: Room) -> None:
    page = browser.get("/").context
    assert (page["attended_total"], page["needed_total"], page["held_total"]) == (201, 201, 1)
    assert (page["others_total"], page["unattended_total"]) == (1, 200)
    Question.objects.filter(held_until__isnull=False).update(asked_at=F("asked_at"), is_attended=False)
    assert browser.get("/").context["attended_total"] == 201


def test_a_sweep_reads_only_what_is_due(busy_room: Room) -> None:
    lifecycle.sweep()
    with CaptureQueriesContext(connection) as queries:
        lifecycle.sweep()
    plans = {query["sql"]: steps_of(query["sql"]) for query in queries if QUESTIONS.search(query["sql"])}
    assert len(plans) >= 4
    for sql, (step,) in plans.items():
        assert re.search("ask_bridge_q_(due|lease|closes|held|escalate)", step), (sql, step)
        assert "filesort" not in step
