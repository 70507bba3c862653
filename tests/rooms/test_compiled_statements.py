"""Compiled statements: the same SQL and results as the ORM, compiled once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.db.models.signals import post_save, pre_save
from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from rooms import lifecycle
from rooms.db.compiled import Select, Update, insert
from rooms.models import Answer, AuditEntry, Message, Question, Room

QUESTION = Select(lambda id: Question.objects.with_answer().filter(pk=id))
ASKED_SINCE = Select(lambda time: Question.objects.filter(asked_at__gt=time).values_list("pk", "asked_at"))


def fields_of(instance: Any) -> dict[str, Any]:
    return {field.attname: getattr(instance, field.attname) for field in instance._meta.concrete_fields}


def answered(question: Question, user: Any) -> Question:
    choices = [{"question": question.prompts[0]["question"], "selectedOptions": ["SQLite"]}]
    return lifecycle.answer(question, choices, via=Answer.Via.WEB, user=user)


def test_finds_what_the_orm_finds_with_all_that_it_selects_along(question: Question, ana: Any) -> None:
    answered(question, ana)
    expected = Question.objects.with_answer().get(pk=question.pk)

    found = QUESTION.first(id=question.pk)

    assert found
    with CaptureQueriesContext(connection) as queries:
        assert fields_of(found) == fields_of(expected)
        assert fields_of(found.room) == fields_of(expected.room)
        assert fields_of(found.answer) == fields_of(expected.answer)
        assert found.answer.question is found
    assert not queries
    assert found._state.db == "default"
    assert not found._state.adding


def test_a_relation_to_nothing_is_known_to_be_nothing(question: Question) -> None:
    found = QUESTION.first(id=question.pk)

    assert found
    with CaptureQueriesContext(connection) as queries:
        assert found.answer_or_none is None
    assert not queries


def test_who_is_not_there_is_not_found(question: Question) -> None:
    assert QUESTION.first(id="q_nobody") is None


def test_finds_all_in_their_order(room: Room) -> None:
    said = [
        lifecycle.post_message(room, sender="bot", sender_type="agent", kind="log", content=str(number))
        for number in range(3)
    ]
    after = Select(
        lambda room, position: Message.objects.filter(room=room, position__gt=position).order_by("-position")
    )

    assert after.all(room=room.pk, position=said[0].position) == [said[2], said[1]]
    assert after.first(room=room.pk, position=0) == said[2]
    assert after.all(room=room.pk, position=said[2].position) == []


def test_times_are_compared_and_come_back_as_times(question: Question) -> None:
    before = question.asked_at - timezone.timedelta(seconds=1)

    assert ASKED_SINCE.first(time=before) == (question.pk, question.asked_at)
    assert ASKED_SINCE.first(time=question.asked_at) is None


def test_is_compiled_once(question: Question, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    compile_anew = SQLCompiler.as_sql
    monkeypatch.setattr(
        SQLCompiler, "as_sql", lambda self, *a, **k: compiled.append(self) or compile_anew(self, *a, **k)
    )
    find = Select(lambda id: Question.objects.filter(pk=id))

    with CaptureQueriesContext(connection) as queries:
        assert [find.first(id=question.pk), find.first(id="other")] == [question, None]

    assert len(queries) == 2
    assert len(compiled) == 1


def test_changes_the_fields_of_those_it_is_for_and_counts_them(question: Question, room: Room) -> None:
    rename = Update(lambda id: Question.objects.open().filter(pk=id), "agent_name", "last_seen_at")
    now = timezone.now()

    assert rename.run(id=question.pk, agent_name="Robin", last_seen_at=now) == 1
    assert rename.run(id="other", agent_name="Robin", last_seen_at=now) == 0

    question.refresh_from_db()
    assert (question.agent_name, question.last_seen_at) == ("Robin", now)


def test_an_expression_changes_what_is_there_and_the_new_values_come_back_as_python_has_them(
    question: Question, room: Room
) -> None:
    now = timezone.now()
    look = Update(
        lambda id: Question.objects.filter(pk=id),
        *("last_seen_at", "memories"),
        revision=F("revision") + 10,
        returning=("revision", "last_seen_at", "agent_active", "memories"),
    )
    memories = [{"question": "ü"}]

    found = look.first(id=question.pk, last_seen_at=now, memories=memories)

    assert found == [question.revision + 10, now, False, memories]
    assert look.first(id="other", last_seen_at=now, memories=None) is None
    question.refresh_from_db()
    assert [question.revision, question.last_seen_at, question.memories] == [found[0], now, memories]


def test_selects_single_values_where_it_is_told_to(question: Question) -> None:
    room_of = Select(lambda id: Question.objects.filter(pk=id), "room_id", "asked_at")

    assert room_of.first(id=question.pk) == (question.room_id, question.asked_at)


def test_query_wrappers_see_them(question: Question) -> None:
    seen = []

    def watch(execute: Any, sql: str, *rest: Any) -> Any:
        seen.append(sql)
        return execute(sql, *rest)

    with connection.execute_wrapper(watch):
        QUESTION.first(id=question.pk)

    assert len(seen) == 1


def test_what_the_database_refuses_is_an_error_of_djangos(question: Question, room: Room, ana: Any) -> None:
    answered(question, ana)
    twice = Answer(question=question, room=room, via="web", position=99)

    with pytest.raises(IntegrityError), transaction.atomic():
        insert(twice)


def test_nothing_runs_in_a_transaction_that_is_broken(question: Question) -> None:
    with transaction.atomic():
        transaction.set_rollback(True)
        with pytest.raises(TransactionManagementError):
            QUESTION.first(id=question.pk)


def test_writes_what_save_would_write(question: Question, room: Room, ana: Any) -> None:
    entry = AuditEntry(room=room.slug, action="asked", actor_type="system", details={"a": ["ü", None, 1.5]})
    message = Message(room=room, user=ana, sender="Ana", sender_type="human", content="ö", position=99)

    for instance in (entry, message):
        insert(instance)

        assert not instance._state.adding
        stored = type(instance)._default_manager.get(pk=instance.pk)
        assert fields_of(stored) == fields_of(instance)


@contextmanager
def received(sender: type) -> Iterator[list[dict[str, Any]]]:
    """What receivers of `pre_save` and `post_save` get for this model, and whether the row exists by then."""
    got: list[dict[str, Any]] = []

    def receive(instance: Any, **sent: Any) -> None:
        got.append({**sent, "exists": sender._default_manager.filter(pk=instance.pk).exists()})

    for signal in (pre_save, post_save):
        signal.connect(receive, sender)
    try:
        yield got
    finally:
        for signal in (pre_save, post_save):
            signal.disconnect(receive, sender)


def test_sends_the_signals_that_save_sends(room: Room) -> None:
    written, saved = (
        Message(room=room, sender="bot", sender_type="agent", content=str(position), position=position)
        for position in (98, 99)
    )
    with received(Message) as from_insert:
        insert(written)
    with received(Message) as from_save:
        saved.save(force_insert=True)

    assert from_insert == from_save
    assert [(one["signal"], one["exists"]) for one in from_insert] == [(pre_save, False), (post_save, True)]


def test_an_answer_and_its_audit_entry_send_them_too(question: Question, ana: Any) -> None:
    with received(Answer) as answers, received(AuditEntry) as entries:
        answered(question, ana)

    assert [one["signal"] for one in (*answers, *entries)] == [pre_save, post_save] * 2
