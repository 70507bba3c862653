"""Event listeners in the hub: while one is connected, the questions of its key count as waited for."""

from collections.abc import Callable

import pytest

from rooms import lifecycle
from rooms.live import waits
from rooms.live.hub import Hub
from rooms.live.waits import AnswerWait, MessageWait
from rooms.models import AgentKey, Question


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Hub:
    """A hub of its own, in the place of the one of this process."""
    own = Hub()
    monkeypatch.setattr(waits, "hub", own)
    return own


def wait_for(question_id: str, key_id: int | None = None) -> AnswerWait:
    wait = AnswerWait(application=None)
    wait.question_id, wait.key_id = question_id, key_id
    return wait


def listener() -> MessageWait:
    return MessageWait(application=None)


def is_waited_for(question: Question) -> bool:
    return Question.objects.get(pk=question.pk).agent_is_waiting


def test_a_key_listens_until_its_last_listener_leaves(hub: Hub) -> None:
    first, second = listener(), listener()
    hub.add_listener(1, 7, first)
    hub.add_listener(1, 7, second)
    hub.remove_listener(1, 7, first)
    assert (hub.is_listening(7), hub.is_listening(8), hub.is_listening(None)) == (True, False, False)
    hub.remove_listener(1, 7, second)
    assert not hub.is_listening(7)


def test_a_wait_that_ends_beside_a_listener_of_its_key_ends_nothing(hub: Hub) -> None:
    wait, listening = wait_for("q_1", 7), listener()
    hub.add_wait(wait)
    hub.add_listener(1, 7, listening)
    assert not hub.remove_wait(wait)
    hub.remove_listener(1, 7, listening)
    hub.add_wait(wait)
    assert hub.remove_wait(wait)


def test_a_listener_that_leaves_ends_what_nothing_else_waits_for(
    hub: Hub, ask: Callable[..., Question], key: tuple[AgentKey, str]
) -> None:
    question, has_own_wait = ask(), ask()
    hub.add_wait(wait_for(has_own_wait.pk))
    lifecycle.renew_leases_of_key(key[0].pk)
    assert is_waited_for(question)
    waits._stop_listening(key[0].pk)
    assert (is_waited_for(question), is_waited_for(has_own_wait)) == (False, True)


def test_a_listener_that_leaves_another_of_its_key_ends_nothing(
    hub: Hub, question: Question, key: tuple[AgentKey, str]
) -> None:
    lifecycle.renew_leases_of_key(key[0].pk)
    hub.add_listener(question.room_id, key[0].pk, listener())
    waits._stop_listening(key[0].pk)
    assert is_waited_for(question)


def test_listening_costs_one_read_where_nothing_is_open(
    hub: Hub,
    question: Question,
    key: tuple[AgentKey, str],
    django_assert_num_queries: Callable[[int], object],
) -> None:
    lifecycle.withdraw(question)
    with django_assert_num_queries(1):  # type: ignore[attr-defined]
        lifecycle.renew_leases_of_key(key[0].pk)
