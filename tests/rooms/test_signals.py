"""Signals: receivers of a portal are called after commit, and their failures break nothing."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from rooms import lifecycle
from rooms.models import Answer, Question
from rooms.signals import question_asked, question_settled

Heard = list[tuple[str, Question]]
SQLITE = [{"question": "Which database should we use?", "selectedOptions": ["SQLite"]}]


@pytest.fixture
def heard() -> Iterator[Heard]:
    """What a portal was told, in order."""
    told: Heard = []

    def asked(sender: type[Question], question: Question, **signal: Any) -> None:
        told.append(("asked", question))

    def settled(sender: type[Question], question: Question, **signal: Any) -> None:
        told.append(("settled", question))

    question_asked.connect(asked, Question)
    question_settled.connect(settled)
    yield told
    question_asked.disconnect(asked, Question)
    question_settled.disconnect(settled)


def test_every_question_is_told_once_asked_and_once_settled(
    heard: Heard, committed: Callable[[], Any], ask: Callable[..., Question], ana: Any
) -> None:
    with committed():
        question = ask()
    with committed():
        lifecycle.wait_started(question.pk)
        lifecycle.answer(question, SQLITE, via=Answer.Via.WEB, user=ana)
    with committed():
        lifecycle.deliver(question.pk)
    assert [(name, told.pk) for name, told in heard] == [("asked", question.pk), ("settled", question.pk)]
    (_, asked), (_, settled) = heard
    assert (asked.is_open, asked.room.slug) == (True, "ops")
    assert (settled.status, settled.answer.person_name) == ("answered", "Ana Costa")


def test_it_is_told_however_it_was_settled(
    heard: Heard,
    committed: Callable[[], Any],
    ask: Callable[..., Question],
    make_overdue: Callable[[Question], Question],
    ana: Any,
) -> None:
    with committed():
        lifecycle.decline(ask(), ana)
        lifecycle.withdraw(ask())
        lifecycle.expire(make_overdue(ask()))
    settled = [told for name, told in heard if name == "settled"]
    assert [told.status for told in settled] == ["declined", "withdrawn", "expired"]
    assert [told.answer_or_none is None for told in settled] == [False, True, True]


def test_nothing_is_told_before_the_commit(heard: Heard, question: Question, ana: Any) -> None:
    lifecycle.decline(question, ana)
    assert heard == []


def test_a_second_answer_is_no_news(
    heard: Heard, committed: Callable[[], Any], question: Question, ana: Any
) -> None:
    lifecycle.decline(question, ana)
    with committed(), pytest.raises(lifecycle.AlreadySettled):
        lifecycle.decline(question, ana)
    assert heard == []


def test_a_receiver_that_fails_is_logged_and_breaks_nothing(
    committed: Callable[[], Any], browser: Client, question: Question, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(**signal: Any) -> None:
        raise RuntimeError("the chat is down")

    question_settled.connect(fail)
    try:
        with committed():
            reply = browser.post(f"/rooms/ops/questions/{question.pk}/skip", {"reason": ""})
    finally:
        question_settled.disconnect(fail)
    assert reply.status_code == 303
    assert "the chat is down" in caplog.text
