"""Revoked access ends at once for new calls, and within half a minute for open connections."""

import time
from collections.abc import Callable

import pytest

from tests.harness.agents import Agent
from tests.harness.bridge_fixture import BOTH
from tests.harness.bridges import MEMBER, Bridge
from tests.harness.people import Person
from tests.harness.sites import run_manage

ENDED_SECONDS = 30
IMPORTS = """
from django.contrib.auth import get_user_model
from rooms import access, lifecycle
from rooms.models import AgentKey, Membership, Room
"""


pytestmark = pytest.mark.bridge(kinds=BOTH)


@pytest.fixture
def agent(bridge: Bridge) -> Agent:
    """In a room with one member."""
    return bridge.agent(is_open=False)


@pytest.fixture
def member(bridge: Bridge) -> Person:
    return bridge.new_person(MEMBER)


@pytest.fixture
def shell(bridge: Bridge) -> Callable[[str], None]:
    """What an admin does, in another process."""

    def run(code: str) -> None:
        done = run_manage(bridge.environment, "shell", "-v0", "-c", IMPORTS + code)
        assert done.returncode == 0, done.stderr

    return run


def test_a_removed_member(agent: Agent, member: Person, shell: Callable[[str], None]) -> None:
    since = member.page_cursor(agent.room)
    with member.stream(agent.room) as room, member.stream(None) as rooms:
        shell(f"Membership.objects.filter(room__slug={agent.room!r}).delete()")
        assert member.get(f"/rooms/{agent.room}").status == 404
        room.wait_for_end(ENDED_SECONDS)
        rooms.wait_for_end(ENDED_SECONDS)
    question = agent.ask()
    # Replay asks again who is there.
    assert member.get(f"/rooms/{agent.room}/stream?since={since}").status == 404
    with member.stream(None, since=f"{agent.room}:{since}") as stream:
        assert stream.until("reset").id == f"{agent.room}:"
    assert question["id"] not in member.get("/").text


def test_a_person_who_leaves_a_group(agent: Agent, member: Person, shell: Callable[[str], None]) -> None:
    join = f"""
from django.contrib.auth.models import Group
room = Room.objects.get(slug={agent.room!r})
group = Group.objects.create(name={agent.room!r})
group.user_set.add(get_user_model().objects.get(username={MEMBER!r}))
lifecycle.add_group(room, group, "member")
Membership.objects.filter(room=room).delete()
"""
    shell(join)
    with member.stream(agent.room) as room, member.stream(None) as rooms:
        shell(
            f"from django.contrib.auth.models import Group\n"
            f"Group.objects.get(name={agent.room!r}).user_set.clear()"
        )
        room.wait_for_end(ENDED_SECONDS)
        rooms.wait_for_end(ENDED_SECONDS)
    assert member.get(f"/rooms/{agent.room}").status == 404


def test_a_deactivated_user(agent: Agent, member: Person, shell: Callable[[str], None]) -> None:
    with member.stream(agent.room) as stream:
        shell(f"get_user_model().objects.filter(username={MEMBER!r}).update(is_active=False)")
        try:
            stream.wait_for_end(ENDED_SECONDS)
            assert member.get(f"/rooms/{agent.room}").status == 302
            assert member.get(f"/rooms/{agent.room}/stream").status == 401
        finally:
            shell(f"get_user_model().objects.filter(username={MEMBER!r}).update(is_active=True)")


def test_a_revoked_key(agent: Agent, shell: Callable[[str], None]) -> None:
    question = agent.ask()
    with (
        agent.waiting(question["id"]) as wait,
        agent.background("GET", f"{agent.path}/messages?wait=50&after={question['id']}") as messages,
        agent.events() as events,
    ):
        shell(f"access.revoke_keys(AgentKey.objects.filter(room__slug={agent.room!r}))")
        revoked_at = time.monotonic()
        assert wait.reply(ENDED_SECONDS).status == 401
        assert messages.reply(ENDED_SECONDS).status == 401
        events.wait_for_end(ENDED_SECONDS)
        assert time.monotonic() - revoked_at < ENDED_SECONDS
    assert agent.call("GET", f"/api/v1/questions/{question['id']}").status == 401


def test_an_archived_room(agent: Agent, member: Person, shell: Callable[[str], None]) -> None:
    question = agent.ask()
    with agent.waiting(question["id"]) as wait, member.stream(agent.room) as stream:
        shell(f"lifecycle.archive_room(Room.objects.get(slug={agent.room!r}))")
        assert wait.result(ENDED_SECONDS)["status"] == "withdrawn"
        stream.wait_for_end(ENDED_SECONDS)
    assert agent.call("GET", f"/api/v1/questions/{question['id']}").status == 401
