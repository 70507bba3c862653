"""Asking: a new open question, or the one that was asked before."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from rooms import access, lifecycle
from rooms.contract.payload import parse_ask
from rooms.models import AgentKey, Answer, Question, Room

Key = tuple[AgentKey, str]


def test_new_question_is_open_and_unsettled(ask: Callable[..., Question]) -> None:
    question = Question.objects.get(pk=ask().pk)
    assert question.is_open
    assert question.settled_at is None
    assert question.delivered_at is None
    assert question.expires_at is None
    assert question.answer_or_none is None
    assert question.pk.startswith("q_")


def test_question_keeps_what_was_asked(ask: Callable[..., Question], key: Key) -> None:
    asked = ask(session_id="s", tool_use_id="t", context={"text": "Tests pass.", "branch": ""})
    question = Question.objects.get(pk=asked.pk)
    assert question.prompts == [
        {
            "question": "Which database should we use?",
            "header": "Database",
            "multiSelect": False,
            "options": [
                {"label": "PostgreSQL (Recommended)", "description": "Grows with us.", "preview": ""},
                {"label": "SQLite", "description": "", "preview": ""},
            ],
        }
    ]
    assert question.context == {"text": "Tests pass."}
    assert (question.agent_name, question.agent_color) == ("refactor-bot", "#818cf8")
    assert (question.session_id, question.tool_use_id) == ("s", "t")
    assert question.key == key[0]


def test_agent_without_color_gets_one_that_lasts(ask: Callable[..., Question]) -> None:
    first, second = ask(agent={"name": "deploy-bot"}), ask(agent={"name": "deploy-bot"})
    assert first.agent_color == second.agent_color
    assert first.agent_color.startswith("#")


def test_asking_alone_does_not_make_the_agent_active(question: Question) -> None:
    assert not question.agent_is_waiting
    assert question.last_seen_at is None


def test_timeout_sets_the_deadline(ask: Callable[..., Question]) -> None:
    question = ask(timeout_seconds=90)
    assert question.expires_at == question.asked_at + timedelta(seconds=90)


def test_default_is_kept_as_choices(ask: Callable[..., Question]) -> None:
    question = ask(timeout_seconds=90, default={"Which database should we use?": "SQLite"})
    assert question.default_choices is not None
    assert question.default_choices[0]["selectedOptions"] == ["SQLite"]


def test_each_question_takes_the_next_revision_of_its_room(ask: Callable[..., Question], room: Room) -> None:
    first, second = ask(), ask()
    assert (first.position, second.position) == (1, 2)
    assert (first.revision, second.revision) == (1, 2)
    room.refresh_from_db()
    assert room.revision == 2


def test_rooms_count_their_revisions_apart(
    ask: Callable[..., Question], other_room: Room, body: dict[str, Any]
) -> None:
    ask()
    elsewhere, _ = lifecycle.ask(other_room, None, parse_ask(body))
    assert elsewhere.position == 1


def test_asking_moves_the_last_activity_of_the_room(ask: Callable[..., Question], room: Room) -> None:
    before = timezone.now()
    ask()
    room.refresh_from_db()
    assert room.changed_at >= before


def test_listeners_are_told_after_commit(
    ask: Callable[..., Question], room: Room, hints: list[dict[str, Any]], committed: Any
) -> None:
    with committed():
        question = ask()
        assert hints == []
    assert hints == [{"room_id": room.pk, "revision": 1, "question_id": question.pk, "is_settled": False}]


# ---- idempotency ---------------------------------------------------------------------------------


def test_same_tool_use_is_the_same_question(ask: Callable[..., Question]) -> None:
    assert ask(session_id="s", tool_use_id="t") == ask(session_id="s", tool_use_id="t")
    assert Question.objects.count() == 1


def test_second_ask_says_that_it_is_not_new(room: Room, key: Key, body: dict[str, Any]) -> None:
    _, is_first_new = lifecycle.ask(room, key[0], parse_ask(body), "k")
    _, is_second_new = lifecycle.ask(room, key[0], parse_ask(body), "k")
    assert (is_first_new, is_second_new) == (True, False)


def test_asking_again_takes_no_revision_and_sends_no_hint(
    ask: Callable[..., Question], room: Room, hints: list[dict[str, Any]], committed: Any
) -> None:
    ask(session_id="s", tool_use_id="t")
    with committed():
        ask(session_id="s", tool_use_id="t")
    room.refresh_from_db()
    assert room.revision == 1
    assert hints == []


def test_asking_again_gives_the_answer_that_came_meanwhile(ask: Callable[..., Question], ana: Any) -> None:
    first = ask(session_id="s", tool_use_id="t")
    choice = {"question": "Which database should we use?", "selectedOptions": ["SQLite"]}
    lifecycle.answer(first, [choice], via=Answer.Via.WEB, user=ana)
    again = ask(session_id="s", tool_use_id="t")
    assert again.status == "answered"
    assert again.answer.person_name == "Ana Costa"


def test_another_agent_of_the_room_may_repeat_a_tool_use(
    ask: Callable[..., Question], room: Room, body: dict[str, Any]
) -> None:
    first = ask(session_id="s", tool_use_id="t")
    other_key, _ = access.create_key(room, label="after the restart")
    again, is_new = lifecycle.ask(room, other_key, parse_ask({**body, "session_id": "s", "tool_use_id": "t"}))
    assert (again, is_new) == (first, False)


def test_same_tool_use_in_another_room_is_another_question(
    ask: Callable[..., Question], other_room: Room, body: dict[str, Any]
) -> None:
    ask(session_id="s", tool_use_id="t")
    _, is_new = lifecycle.ask(other_room, None, parse_ask({**body, "session_id": "s", "tool_use_id": "t"}))
    assert is_new


@pytest.mark.parametrize("fields", [{}, {"session_id": "s"}, {"tool_use_id": "t"}])
def test_without_both_halves_every_ask_is_new(ask: Callable[..., Question], fields: dict[str, str]) -> None:
    assert ask(**fields) != ask(**fields)


def test_halves_cannot_be_shifted_against_each_other(ask: Callable[..., Question]) -> None:
    assert ask(session_id="ab", tool_use_id="c") != ask(session_id="a", tool_use_id="bc")


def test_same_tool_use_with_another_question_is_a_conflict(ask: Callable[..., Question]) -> None:
    ask(session_id="s", tool_use_id="t")
    with pytest.raises(lifecycle.AskedDifferently):
        ask(session_id="s", tool_use_id="t", questions=[{"question": "Now?", "options": ["Yes", "No"]}])
    assert Question.objects.count() == 1


def test_same_tool_use_with_another_default_is_a_conflict(ask: Callable[..., Question]) -> None:
    ask(session_id="s", tool_use_id="t")
    with pytest.raises(lifecycle.AskedDifferently):
        ask(session_id="s", tool_use_id="t", default={"Which database should we use?": "SQLite"})


def test_what_changes_after_a_crash_is_no_conflict(ask: Callable[..., Question]) -> None:
    first = ask(session_id="s", tool_use_id="t", context={"text": "before"}, agent={"name": "a"})
    assert ask(session_id="s", tool_use_id="t", context={"text": "after"}, agent={"name": "b"}) == first


def test_idempotency_key_belongs_to_one_agent_key(room: Room, key: Key, body: dict[str, Any]) -> None:
    other_key, _ = access.create_key(room, label="deploy-bot")
    first, _ = lifecycle.ask(room, key[0], parse_ask(body), "k")
    second, is_new = lifecycle.ask(room, other_key, parse_ask(body), "k")
    assert is_new
    assert first != second


def test_idempotency_key_goes_before_the_tool_use(room: Room, key: Key, body: dict[str, Any]) -> None:
    asked = parse_ask({**body, "session_id": "s", "tool_use_id": "t"})
    first, _ = lifecycle.ask(room, key[0], asked, "one")
    second, _ = lifecycle.ask(room, key[0], asked, "two")
    assert first != second


def test_question_survives_the_deletion_of_its_key(question: Question, key: Key) -> None:
    key[0].delete()
    question.refresh_from_db()
    assert question.key is None


def test_nothing_is_asked_in_a_room_that_was_archived_meanwhile(
    ask: Callable[..., Question], room: Room
) -> None:
    lifecycle.archive_room(room)
    with pytest.raises(lifecycle.RoomArchived):
        ask()
    assert not Question.objects.filter(room=room).exists()


def test_a_default_is_the_same_with_or_without_its_list(ask: Callable[..., Question]) -> None:
    text = "Which database should we use?"
    first = ask(session_id="s", tool_use_id="t", default={text: "SQLite"})
    assert ask(session_id="s", tool_use_id="t", default={text: ["SQLite"]}) == first
