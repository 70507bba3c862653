"""Texts are the same only if every character is: on every database, also where it has another opinion."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from rooms import access, lifecycle
from rooms.access.exceptions import Missing
from rooms.contract.payload import parse_ask
from rooms.db import collation
from rooms.history import writer
from rooms.insights.figures import insights_of
from rooms.insights.periods import Period
from rooms.models import AgentKey, Answer, Question, Room

on_mariadb = pytest.mark.skipif(connection.vendor != "mysql", reason="of MariaDB")

# Usual collations of MariaDB take some of them for one.
NAMES = ["Deploy", "deploy", "DEPLOY", "déploy", "deploy ", "deploy\u00ad", "ﬁx", "fix", "straße", "strasse"]
# Four bytes each in UTF-8, of which a connection or column of MariaDB's old `utf8` has none.
EMOJI = "🚀 Ship 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 to 𠜎? 👩‍👩‍👧"


def test_rooms_are_found_by_exactly_their_slug(db: None) -> None:
    for slug in ("ops", "Ops", "OPS"):
        lifecycle.create_room(slug)
    assert Room.objects.count() == 3
    assert Room.objects.get(slug="Ops").slug == "Ops"
    assert not Room.objects.filter(slug="oPs").exists()


def test_names_that_only_look_alike_are_several(room: Room) -> None:
    for name in NAMES:
        access.create_key(room, label=name)
    for name in NAMES:
        assert [key.label for key in AgentKey.objects.filter(label=name)] == [name]
    assert AgentKey.objects.values("label").distinct().count() == len(NAMES)


def test_agents_that_only_look_alike_are_counted_separately(
    ask: Callable[..., Question], room: Room, ana: Any
) -> None:
    for name in NAMES:
        lifecycle.decline(ask(agent={"name": name}), ana)
    writer.catch_up(5)
    counted = {agent.name: agent.questions for agent in insights_of([room], Period.until_now(7)).agents}
    # The ask itself drops spaces around a name and characters without a shape.
    assert counted == Counter(question.agent_name for question in Question.objects.all())
    assert len(counted) == 8


def test_calls_are_the_same_only_with_exactly_the_same_ids(ask: Callable[..., Question]) -> None:
    first = ask(session_id="s", tool_use_id="toolu_a")
    assert ask(session_id="s", tool_use_id="toolu_a") == first
    assert ask(session_id="s", tool_use_id="toolu_A") != first
    assert [*Question.objects.filter(tool_use_id="toolu_A")] != [first]


def test_a_question_has_one_address(question: Question, key: tuple[AgentKey, str]) -> None:
    assert access.question_of_key(key[0], question.pk) == question
    with pytest.raises(Missing):
        access.question_of_key(key[0], question.pk.upper())


def test_every_character_comes_back(room: Room, ana: Any) -> None:
    question, _ = lifecycle.ask(room, None, parse_ask({"question": EMOJI, "options": ["🚀", "🛑"]}))
    choices = [{"question": EMOJI, "selectedOptions": ["🚀"], "notes": EMOJI}]
    lifecycle.answer(question, choices, via=Answer.Via.WEB, user=ana)
    stored = Question.objects.with_answer().get(pk=question.pk)
    assert stored.prompts[0]["question"] == EMOJI
    assert stored.answer.choices[0]["notes"] == EMOJI
    assert lifecycle.post_message(room, sender=EMOJI, sender_type="agent", content=EMOJI).content == EMOJI


def test_times_have_their_microseconds(room: Room) -> None:
    at = timezone.now().replace(microsecond=123_457)
    Room.objects.filter(pk=room.pk).update(changed_at=at)
    assert Room.objects.get(changed_at=at) == room
    assert not Room.objects.filter(changed_at=at + timedelta(microseconds=1)).exists()


@on_mariadb
@pytest.mark.django_db(transaction=True)
def test_a_column_that_a_migration_changed_is_exact_again_after_it() -> None:
    change = "ALTER TABLE ask_bridge_agentkey MODIFY label varchar(80) COLLATE utf8mb4_general_ci NOT NULL"
    with connection.cursor() as cursor:
        cursor.execute(change)
        assert inexact() == [("ask_bridge_agentkey", "label")]
        collation.compare_texts_exactly(apps.get_app_config("ask_bridge"), using="default")
        assert inexact() == []


def inexact() -> list[tuple[str, str]]:
    tables = [model._meta.db_table for model in apps.get_app_config("ask_bridge").get_models()]
    with connection.cursor() as cursor:
        cursor.execute(collation.INEXACT, [tables, collation.EXACT])
        return [(table, column) for table, column, *_ in cursor.fetchall()]
