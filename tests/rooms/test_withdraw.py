"""Withdrawing: the agent takes its question back; archiving a room does so with all of them."""

from collections.abc import Callable
from typing import Any

import pytest

from rooms import access, lifecycle
from rooms.models import AgentKey, Answer, Question, Room


def test_withdrawn_question_has_no_answer(question: Question) -> None:
    withdrawn = lifecycle.withdraw(question)
    assert withdrawn.status == "withdrawn"
    assert withdrawn.settled_at is not None
    assert withdrawn.answer_or_none is None


def test_withdrawn_question_cannot_be_answered(question: Question, ana: Any) -> None:
    lifecycle.withdraw(question)
    choice = {"question": "Which database should we use?", "selectedOptions": ["SQLite"]}
    with pytest.raises(lifecycle.AlreadySettled) as late:
        lifecycle.answer(question, [choice], via=Answer.Via.WEB, user=ana)
    assert late.value.question.status == "withdrawn"


def test_answered_question_cannot_be_withdrawn(question: Question, ana: Any) -> None:
    lifecycle.decline(question, ana)
    with pytest.raises(lifecycle.AlreadySettled) as late:
        lifecycle.withdraw(question)
    assert late.value.question.status == "declined"


def test_second_withdrawal_is_refused(question: Question) -> None:
    lifecycle.withdraw(question)
    with pytest.raises(lifecycle.AlreadySettled):
        lifecycle.withdraw(question)


def test_listeners_are_told_that_it_is_settled(
    question: Question, hints: list[dict[str, Any]], committed: Any
) -> None:
    with committed():
        lifecycle.withdraw(question)
    assert [(hint["question_id"], hint["is_settled"]) for hint in hints] == [(question.pk, True)]


def test_archiving_a_room_withdraws_what_is_open_and_keeps_the_rest(
    ask: Callable[..., Question], room: Room, ana: Any
) -> None:
    settled, still_open = lifecycle.decline(ask(), ana), ask()
    lifecycle.archive_room(room)
    settled.refresh_from_db()
    still_open.refresh_from_db()
    assert (settled.status, still_open.status) == ("declined", "withdrawn")


def test_archived_room_is_gone_for_people_and_keys(room: Room, key: tuple[AgentKey, str], ana: Any) -> None:
    lifecycle.archive_room(room)
    assert room not in access.visible_rooms(ana)
    with pytest.raises(access.BadKey):
        access.key_from_header(f"Bearer {key[1]}")


def test_restored_room_is_there_again_with_its_living_keys(
    room: Room, key: tuple[AgentKey, str], ana: Any
) -> None:
    _, revoked = access.create_key(room, label="old")
    access.revoke_keys(AgentKey.objects.filter(label="old"))
    lifecycle.archive_room(room)
    lifecycle.restore_room(room)
    assert room in access.visible_rooms(ana)
    assert access.key_from_header(f"Bearer {key[1]}") == key[0]
    with pytest.raises(access.BadKey):
        access.key_from_header(f"Bearer {revoked}")
