"""GET /api/v1/rooms/{room}/questions"""

from collections.abc import Callable
from typing import Any

import pytest

from rooms import lifecycle
from rooms.contract.payload import parse_ask
from rooms.models import Question, Room


def ids(response: Any) -> list[str]:
    assert response.status_code == 200, response.content
    return [question["id"] for question in response.json()["questions"]]


@pytest.fixture
def three(ask: Callable[..., Question]) -> list[str]:
    return [ask().pk for _ in range(3)]


def test_empty_room_has_an_empty_list(agent: Any) -> None:
    assert agent.get(agent.questions_url).json() == {"questions": [], "next": None}


def test_questions_are_listed_oldest_first(agent: Any, three: list[str]) -> None:
    response = agent.get(agent.questions_url)
    assert ids(response) == three
    assert response.json()["next"] is None


def test_listed_question_is_the_same_object_as_the_single_one(agent: Any, question: Question) -> None:
    (listed,) = agent.get(agent.questions_url).json()["questions"]
    assert listed == agent.get(agent.question_url(question.pk)).json()


def test_pages_follow_each_other_without_gap_or_overlap(agent: Any, three: list[str]) -> None:
    first = agent.get(f"{agent.questions_url}?limit=2")
    assert ids(first) == three[:2]
    assert first.json()["next"] == three[1]
    second = agent.get(f"{agent.questions_url}?limit=2&after={first.json()['next']}")
    assert ids(second) == three[2:]
    assert second.json()["next"] is None


def test_exactly_full_page_is_the_last(agent: Any, three: list[str]) -> None:
    assert agent.get(f"{agent.questions_url}?limit=3").json()["next"] is None


def test_fifty_are_listed_unless_told_otherwise(agent: Any, ask: Callable[..., Question]) -> None:
    for _ in range(51):
        ask()
    assert len(ids(agent.get(agent.questions_url))) == 50
    assert len(ids(agent.get(f"{agent.questions_url}?limit=100000000"))) == 51


def test_after_the_last_there_is_nothing(agent: Any, three: list[str]) -> None:
    assert ids(agent.get(f"{agent.questions_url}?after={three[-1]}")) == []


def test_status_filters(agent: Any, three: list[str], ana: Any) -> None:
    lifecycle.decline(Question.objects.get(pk=three[0]), ana)
    lifecycle.withdraw(Question.objects.get(pk=three[1]))
    assert ids(agent.get(f"{agent.questions_url}?status=open")) == [three[2]]
    assert ids(agent.get(f"{agent.questions_url}?status=declined")) == [three[0]]
    assert ids(agent.get(f"{agent.questions_url}?status=withdrawn")) == [three[1]]
    assert ids(agent.get(f"{agent.questions_url}?status=answered")) == []


def test_questions_of_other_rooms_are_not_listed(agent: Any, other_room: Room, body: dict[str, Any]) -> None:
    lifecycle.ask(other_room, None, parse_ask(body))
    assert ids(agent.get(agent.questions_url)) == []


def test_listing_is_no_sign_of_life_and_no_delivery(agent: Any, three: list[str], ana: Any) -> None:
    lifecycle.decline(Question.objects.get(pk=three[0]), ana)
    agent.get(agent.questions_url)
    settled, still_open = Question.objects.get(pk=three[0]), Question.objects.get(pk=three[1])
    assert settled.delivered_at is None
    assert not still_open.agent_active


def test_list_takes_the_same_number_of_queries_however_long(
    agent: Any, three: list[str], ask: Callable[..., Question], ana: Any, django_assert_num_queries: Any
) -> None:
    agent.get(agent.questions_url)  # notes the key's use, once a minute
    lifecycle.decline(Question.objects.get(pk=three[0]), ana)
    with django_assert_num_queries(2):
        agent.get(agent.questions_url)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=ten", "limit"),
        ("limit=1.5", "limit"),
        ("limit=%D9%A3", "limit"),
        (f"limit={'9' * 5_000}", "limit"),
        ("status=closed", "status"),
        ("status=OPEN", "status"),
        ("after=q_missing", "after"),
        ("after=x", "after"),
        ("after=q_%00", "after"),
        ("after=q_%ff", "after"),
    ],
)
def test_wrong_parameters_are_named(
    agent: Any, problem: Any, question: Question, query: str, field: str
) -> None:
    refused = problem(agent.get(f"{agent.questions_url}?{query}"), 422, "invalid_parameter")
    assert [error["field"] for error in refused["errors"]] == [field]


def test_cursor_of_another_room_is_unknown(
    agent: Any, other_room: Room, body: dict[str, Any], problem: Any
) -> None:
    foreign, _ = lifecycle.ask(other_room, None, parse_ask(body))
    problem(agent.get(f"{agent.questions_url}?after={foreign.pk}"), 422, "invalid_parameter")
