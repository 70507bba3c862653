"""The history writer: each settled question is written once, soon after, in the background."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rooms import lifecycle
from rooms.contract.payload import parse_ask
from rooms.history import writer
from rooms.history.index import IDS_PER_MICROSECOND
from rooms.history.index_query import indexed
from rooms.management import demo
from rooms.models import Answer, Bookmark, HistoryEntry, Question, Room
from rooms.timeline.change_feed import RoomChanges, changes_for


def answer(question: Question, user: Any, label: str = "SQLite", **choice: Any) -> Question:
    choices = [{"question": question.prompts[0]["question"], "selectedOptions": [label], **choice}]
    return lifecycle.answer(question, choices, via=Answer.Via.WEB, user=user)


def entry_of(question: Question) -> HistoryEntry:
    writer.catch_up()
    return HistoryEntry.objects.get(question=question)


def test_a_settled_question_is_written_down(question: Question, ana: Any) -> None:
    settled = answer(question, ana, notes="as everywhere else")
    entry = entry_of(question)
    assert (entry.status, entry.via, entry.asks_back) == ("answered", "web", False)
    assert (entry.agent_name, entry.user, entry.person_name) == ("refactor-bot", ana, "Ana Costa")
    assert (entry.asked_at, entry.settled_at) == (question.asked_at, settled.settled_at)
    for word in ["which", "database", "postgresql", "sqlite", "grows", "refactor", "costa", "everywhere"]:
        assert indexed(word) in entry.text.split()


def test_open_questions_are_not(question: Question) -> None:
    writer.catch_up()
    assert not HistoryEntry.objects.exists()


def test_each_is_written_once_however_often_it_changes_and_is_read(question: Question, ana: Any) -> None:
    answer(question, ana)
    writer.catch_up()
    lifecycle.deliver(question.pk)
    writer.catch_up()
    Bookmark.objects.all().delete()
    writer.catch_up()
    assert HistoryEntry.objects.count() == 1


@pytest.mark.parametrize(
    ("settle", "status", "asks_back"),
    [
        (lambda question, ana: lifecycle.decline(question, ana, "not now"), "declined", False),
        (lambda question, ana: lifecycle.ask_back(question, ana, "for what?"), "declined", True),
        (lambda question, ana: lifecycle.expire(question), "expired", False),
        (lambda question, ana: lifecycle.withdraw(question), "withdrawn", False),
    ],
)
def test_every_ending_is_written_down(
    question: Question, ana: Any, settle: Any, status: str, asks_back: bool
) -> None:
    settle(question, ana)
    entry = entry_of(question)
    assert (entry.status, entry.asks_back) == (status, asks_back)


# ---- how long it took ------------------------------------------------------------------------------------


def settled_after(question: Question, seconds: int, **marks: Any) -> HistoryEntry:
    moment = question.asked_at + timedelta(seconds=seconds)
    lifecycle.withdraw(question)
    Question.objects.filter(pk=question.pk).update(settled_at=moment, **marks)
    return entry_of(question)


def test_seconds_are_from_the_ask_to_the_end(question: Question) -> None:
    assert settled_after(question, 90).seconds == 90


def test_an_agent_that_waits_is_blocked_to_the_end(question: Question) -> None:
    until = question.asked_at + timedelta(seconds=100)
    assert settled_after(question, 90, agent_active=True, waiting_until=until).blocked_seconds == 90


def test_an_agent_that_left_was_blocked_as_long_as_it_was_seen(question: Question) -> None:
    seen = question.asked_at + timedelta(seconds=30)
    assert settled_after(question, 90, agent_active=False, last_seen_at=seen).blocked_seconds == 30


def test_an_agent_that_vanished_unnoticed_was_blocked_as_long_as_it_was_seen(question: Question) -> None:
    seen = question.asked_at + timedelta(seconds=30)
    entry = settled_after(question, 90, agent_active=True, waiting_until=seen, last_seen_at=seen)
    assert entry.blocked_seconds == 30


def test_an_agent_that_never_waited_was_not_blocked(question: Question) -> None:
    assert settled_after(question, 90).blocked_seconds == 0


def test_time_never_runs_backwards(question: Question) -> None:
    entry = settled_after(question, -5, last_seen_at=question.asked_at - timedelta(seconds=9))
    assert (entry.seconds, entry.blocked_seconds) == (0, 0)


# ---- order and pace --------------------------------------------------------------------------------------


def test_ids_follow_the_time_of_the_end_whatever_was_read_first(room: Room, other_room: Room) -> None:
    for place in (room, other_room):
        for _ in demo.fill(place, 150, 0, days=9, random=Random(1)):
            pass
    writer.catch_up(10)
    by_id = list(HistoryEntry.objects.order_by("id").values_list("settled_at", flat=True))
    assert by_id == sorted(by_id)
    assert len(by_id) == Question.objects.count()


def test_entries_of_the_same_microsecond_have_ids_of_their_own(
    ask: Callable[..., Question], ana: Any
) -> None:
    questions = [ask() for _ in range(3)]
    for question in questions:
        answer(question, ana)
    moment = questions[0].asked_at
    Question.objects.update(settled_at=moment, settled_position=7)
    writer.catch_up()
    assert len(set(HistoryEntry.objects.values_list("pk", flat=True))) == 3


# A microsecond, and the position in a room.
Moment = tuple[int, int]
LAST = IDS_PER_MICROSECOND - 1


def settle_one_by_one(moments: list[list[Moment]]) -> None:
    """Rooms that have each settled something then; one after the other is written."""
    asked = parse_ask({"question": "Ship it?", "options": ["Yes", "No"]})
    begin = timezone.now()
    for number, of_room in enumerate(moments):
        room = lifecycle.create_room(f"room-{number}")
        for microsecond, position in of_room:
            question, _ = lifecycle.ask(room, None, asked)
            lifecycle.withdraw(question)
            Question.objects.filter(pk=question.pk).update(
                settled_at=begin + timedelta(microseconds=microsecond), settled_position=position
            )
        writer.catch_up()


@pytest.mark.parametrize(
    "moments",
    [
        [[(0, 5)], [(0, 6)], [(0, 5)]],
        [[(0, 5)], [(0, 5)], [(0, 5)], [(0, 6), (0, 5)]],
        # If a microsecond is taken, the next free one is used.
        [[(0, LAST)], [(1, 0)], [(0, LAST)], [(1, 0)]],
        [[(0, LAST)], [(0, LAST)], [(1, 0), (0, LAST)]],
    ],
)
def test_rooms_that_settle_in_the_same_microsecond_make_way_for_each_other(
    db: None, moments: list[list[Moment]]
) -> None:
    settle_one_by_one(moments)
    assert HistoryEntry.objects.count() == Question.objects.count()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 1), st.sampled_from([0, 1, 2, LAST - 1, LAST])), max_size=4),
        max_size=5,
    )
)
def test_whatever_settles_at_once_is_written(db: None, moments: list[list[Moment]]) -> None:
    Room.objects.all().delete()
    settle_one_by_one(moments)
    assert HistoryEntry.objects.count() == Question.objects.count() == sum(map(len, moments))


def test_a_long_past_is_written_in_rounds_that_end(room: Room) -> None:
    for _ in demo.fill(room, 1_000, 0, days=9, random=Random(1)):
        pass
    writer.catch_up(0.001)
    first = HistoryEntry.objects.count()
    assert 0 < first <= 100
    while HistoryEntry.objects.count() < Question.objects.count():
        writer.catch_up(0.001)
        assert HistoryEntry.objects.count() > first
        first = HistoryEntry.objects.count()


def test_nothing_new_costs_one_query(question: Question, ana: Any) -> None:
    answer(question, ana)
    writer.catch_up()
    with CaptureQueriesContext(connection) as queries:
        writer.catch_up()
    assert len(queries) == 1


def test_what_another_process_did_not_know_of_is_taken_after_it(
    ask: Callable[..., Question], ana: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(ask(), ana)
    (older,) = writer.changes_for(writer.READER)
    answer(ask(), ana)

    def overtaken(reader: str) -> Iterator[RoomChanges]:
        for changes in changes_for(reader):
            older.commit()
            yield changes

    monkeypatch.setattr(writer, "changes_for", overtaken)
    writer.catch_up()
    assert HistoryEntry.objects.count() == 1  # what it knew of was for it to write


def test_a_round_looks_once_however_much_comes_meanwhile(
    ask: Callable[..., Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask()
    looks = []

    def changes_while_others_ask(reader: str) -> Iterator[RoomChanges]:
        looks.append(reader)
        for changes in changes_for(reader):
            yield changes
            ask()

    monkeypatch.setattr(writer, "changes_for", changes_while_others_ask)
    writer.catch_up(10)
    assert len(looks) == 1


def test_neither_ask_nor_answer_writes_history(ask: Callable[..., Question], ana: Any) -> None:
    with CaptureQueriesContext(connection) as queries:
        answer(ask(), ana)
    assert not [query for query in queries if "history" in query["sql"] or "bookmark" in query["sql"]]


def test_what_is_deleted_leaves_the_history_and_its_index(question: Question, ana: Any, room: Room) -> None:
    answer(question, ana)
    writer.catch_up()
    room.delete()
    assert not HistoryEntry.objects.exists()
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO ask_bridge_historyindex(ask_bridge_historyindex) VALUES ('integrity-check')"
            )


@pytest.mark.django_db(transaction=True)
def test_the_index_goes_and_comes_with_its_migration() -> None:
    call_command("migrate", "ask_bridge", "0006", verbosity=0)
    call_command("migrate", "ask_bridge", verbosity=0)
    tables = connection.introspection.table_names()
    assert HistoryEntry._meta.db_table in tables
