"""An agent can name people whom its room knows, and learns nothing about any other account."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from rooms import lifecycle
from rooms.models import AgentKey, Answer, Question, Room
from rooms.permissions import Permissions


def name(agent: Any, body: dict[str, Any], *people: str) -> Any:
    return agent.post(agent.questions_url, {**body, "care": {"first": list(people)}})


def make_user(username: str, **fields: Any) -> Any:
    return get_user_model().objects.create_user(username, **fields)


@pytest.fixture
def open_room(room: Room) -> Room:
    Room.objects.filter(pk=room.pk).update(is_open=True)
    room.refresh_from_db()
    return room


class EveryoneIsPermitted(Permissions):
    """A portal's own rule."""

    def visible_rooms(self, user: Any, rooms: Any) -> Any:
        return rooms


# ---- who can be named ------------------------------------------------------------------------------------


def test_members_can_be_named(agent: Any, body: dict[str, Any]) -> None:
    assert name(agent, body, "ana", "ben").status_code == 201


def test_who_answered_or_wrote_in_an_open_room_can_be_named(
    agent: Any, open_room: Room, body: dict[str, Any], question: Question
) -> None:
    choice = {"question": "Which database should we use?", "selectedOptions": ["SQLite"]}
    answering, writing = make_user("dee"), make_user("eve")
    assert name(agent, body, "dee").status_code == 422
    lifecycle.answer(question, [choice], via=Answer.Via.WEB, user=answering)
    lifecycle.say(open_room, writing, "Hello")
    assert name(agent, body, "dee", "eve").status_code == 201


def test_the_rules_of_a_portal_decide_whom_its_rooms_know(
    agent: Any, body: dict[str, Any], settings: Any
) -> None:
    make_user("dee")
    settings.ASK_BRIDGE = {"PERMISSIONS": f"{__name__}.EveryoneIsPermitted"}
    assert name(agent, body, "dee").status_code == 201


# ---- all others look alike -------------------------------------------------------------------------------


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize("fields", [{}, {"is_superuser": True}, {"is_active": False}])
def test_an_account_that_the_room_does_not_know_looks_like_none(
    agent: Any, room: Room, body: dict[str, Any], is_open: bool, fields: dict[str, Any]
) -> None:
    Room.objects.filter(pk=room.pk).update(is_open=is_open)
    make_user("somebody", **fields)
    agent.get(agent.questions_url)  # the first use of a key is written down
    replies, statements = [], []
    for username in ("somebody", "phantom0"):
        with CaptureQueriesContext(connection) as queries:
            replies.append(name(agent, body, username))
        statements.append(len(queries))
    known, unknown = replies
    assert known.status_code == unknown.status_code == 422
    assert known.content.replace(b"somebody", b"phantom0") == unknown.content
    assert statements[0] == statements[1]
    assert not Question.objects.exists()


def test_a_member_of_another_room_looks_like_an_unknown_name(
    agent: Any, other_room: Room, body: dict[str, Any]
) -> None:
    lifecycle.create_room(other_room.slug, members=[make_user("somebody")])
    known, unknown = (name(agent, body, username) for username in ("somebody", "phantom0"))
    assert known.content.replace(b"somebody", b"phantom0") == unknown.content


# ---- trying names out ------------------------------------------------------------------------------------


def test_names_cannot_be_tried_out_for_long(
    agent: Any, second_agent: Any, body: dict[str, Any], problem: Any, settings: Any
) -> None:
    settings.ASK_BRIDGE = {"REFUSED_NAMES_PER_MINUTE": 3}
    for number in range(3):
        problem(name(agent, body, f"guess-{number}"), 422, "invalid_question")
    # Whether the name is a good one is not said any more.
    for username in ("ana", "guess-4"):
        response = name(agent, body, username)
        problem(response, 429, "too_many_requests")
        assert 0 < int(response["Retry-After"]) <= 60
    assert agent.post(agent.questions_url, body).status_code == 201
    assert name(second_agent, body, "ana").status_code == 201


def test_after_a_minute_names_are_looked_up_again(agent: Any, body: dict[str, Any], settings: Any) -> None:
    settings.ASK_BRIDGE = {"REFUSED_NAMES_PER_MINUTE": 1}
    assert name(agent, body, "guess").status_code == 422
    assert name(agent, body, "ana").status_code == 429
    AgentKey.objects.update(refused_names_since=timezone.now() - timedelta(seconds=61))
    assert name(agent, body, "guess").status_code == 422
    assert AgentKey.objects.get(pk=agent.key_row.pk).refused_names == 1
    assert name(agent, body, "ana").status_code == 429


def test_names_that_are_known_are_not_counted(agent: Any, body: dict[str, Any], settings: Any) -> None:
    settings.ASK_BRIDGE = {"REFUSED_NAMES_PER_MINUTE": 1}
    for _ in range(3):
        assert name(agent, body, "ana").status_code == 201


def test_no_limit_is_no_limit(agent: Any, body: dict[str, Any], settings: Any) -> None:
    settings.ASK_BRIDGE = {"REFUSED_NAMES_PER_MINUTE": 0}
    for number in range(12):
        assert name(agent, body, f"guess-{number}").status_code == 422
