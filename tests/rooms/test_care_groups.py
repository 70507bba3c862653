"""Careful questions that name a group: its people are asked first, or vote."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client

from rooms import lifecycle
from rooms.access import locks
from rooms.contract.care import Care, combined
from rooms.contract.restrictions import Lock
from rooms.contract.types import InvalidPayload, parse
from rooms.models import GroupMembership, Question, Room
from tests.harness.agents import Agent

Ask = Callable[..., Question]
TEAM = "group:Platform team"


@pytest.fixture
def team(room: Room, ben: Any) -> Group:
    """A group of the room: Ben and Cleo. Ana is a member of the room by herself."""
    group = Group.objects.create(name="Platform team")
    group.user_set.add(ben, get_user_model().objects.create_user("cleo"))
    lifecycle.add_group(room, group, "member")
    return group


def lock_of(question: Question, user: Any) -> Lock | None:
    """As the pages show it; the verbs decide the same."""
    lock = locks.lock_on(question, locks.standing_of(user, [question.room]))
    assert lifecycle.may_decide(question, user) is (lock is None)
    return lock


def test_people_of_the_group_are_asked_first(ask: Ask, team: Group, ana: Any, ben: Any) -> None:
    question = ask(care={"first": TEAM})
    assert lock_of(question, ana) == Lock.FIRST
    assert lock_of(question, ben) is None
    team.user_set.remove(ben)
    assert lock_of(question, ben) == Lock.FIRST


def test_only_the_people_of_the_group_vote(
    ask: Ask, team: Group, browser: Client, ana: Any, ben: Any
) -> None:
    question = ask(care={"votes": {"needed": 2, "of": [TEAM]}})
    assert lock_of(question, ana) == Lock.VOTES
    assert lock_of(question, ben) is None
    page = " ".join(re.sub("<[^>]*>", " ", browser.get("/rooms/ops").content.decode()).split())
    assert "Only the group Platform team can vote on this" in page
    assert "2 of the group Platform team have to agree" in page
    for user in team.user_set.all():
        client = Client()
        client.force_login(user)
        client.post(f"/rooms/ops/questions/{question.pk}/answer", {"choice-0": "1"})
    question.refresh_from_db()
    assert question.status == "answered"


def test_people_and_groups_can_be_named_together(ask: Ask, team: Group, ana: Any, ben: Any) -> None:
    question = ask(care={"votes": {"needed": 3, "of": ["ana", TEAM]}})
    assert lock_of(question, ana) is None
    assert lock_of(question, ben) is None


@pytest.mark.parametrize(
    ("care", "said"),
    [
        ({"votes": {"needed": 3, "of": [TEAM]}}, "names 2 people, but 3 votes are needed"),
        ({"votes": {"needed": 2, "of": ["group:Others"]}}, '"group:Others" cannot be named here'),
        ({"first": "group:platform team"}, '"group:platform team" cannot be named here'),
        ({"first": "group:"}, '"group:" cannot be named here'),
        ({"first": "group:Empty"}, '"group:Empty" cannot be named here'),
    ],
)
@pytest.mark.usefixtures("team")
def test_group_that_cannot_decide_is_refused(
    agent: Agent, room: Room, body: dict[str, Any], care: Any, said: str
) -> None:
    """Whether there is such a group elsewhere or not: a key learns nothing about it."""
    Group.objects.create(name="Others").user_set.add(get_user_model().objects.create_user("dora"))
    lifecycle.add_group(room, Group.objects.create(name="Empty"), "member")
    reply = agent.call("POST", "/api/v1/rooms/ops/questions", {**body, "care": care})
    assert reply.status_code == 422
    assert said in reply.json()["detail"]


@pytest.mark.usefixtures("team")
def test_room_that_needs_more_votes_than_the_group_has_people_is_named_at_once(
    agent: Agent, room: Room, body: dict[str, Any]
) -> None:
    room.care = {"votes": {"needed": 3, "of": []}}
    room.save()
    asked = {**body, "care": {"votes": {"needed": 2, "of": [TEAM]}}}
    reply = agent.call("POST", "/api/v1/rooms/ops/questions", asked)
    assert reply.status_code == 422
    assert "names 2 people, but 3 votes are needed" in reply.json()["detail"]


@pytest.mark.usefixtures("team")
def test_room_asks_a_group_first(browser: Client, room: Room, ana: Any, ask: Ask, ben: Any) -> None:
    room.memberships.filter(user=ana).update(role="manager")
    assert TEAM in browser.get("/rooms/ops/manage/care").content.decode()
    reply = browser.post("/rooms/ops/manage/care", {"first_people": f"ana, {TEAM}"})
    assert reply.status_code == 303
    room.refresh_from_db()
    assert room.care is not None
    assert room.care["first"]["people"] == ["ana", TEAM]
    assert lock_of(ask(), ben) is None


@pytest.mark.usefixtures("team")
def test_group_that_left_the_room_decides_no_more(ask: Ask, ben: Any) -> None:
    question = ask(care={"first": TEAM})
    GroupMembership.objects.all().delete()
    assert lock_of(question, ben) == Lock.FIRST


def test_care_of_room_and_question_with_groups() -> None:
    def care(**asked: Any) -> Care:
        return parse(Care, asked)

    both = combined(care(votes={"needed": 3, "of": [TEAM]}), care(votes=2))
    assert both is not None
    assert both.votes is not None
    assert (both.votes.needed, both.votes.of) == (3, [TEAM])
    both = combined(care(votes=3), care(votes={"needed": 2, "of": [TEAM]}))
    assert both is not None
    assert both.votes is not None
    assert (both.votes.needed, both.votes.of) == (3, [TEAM])
    both = combined(care(first=[TEAM]), care(votes={"needed": 2, "of": ["ana", "ben"]}))
    assert both is not None
    assert both.first is not None
    with pytest.raises(InvalidPayload):
        care(first=["ana"], votes={"needed": 2, "of": ["ana", "ben"]})
