"""A running site removes what a room no longer keeps, without being asked."""

import pytest

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.sites import run_manage
from tests.harness.timing import eventually

pytestmark = pytest.mark.bridge(kinds=("embedded",), rooms=("ops",), scope="module")

# It looks once a minute, with a round of a second; the rest is for a busy machine.
REMOVAL_SECONDS = 60 + 60

# From now on the room keeps a day, and this question and all messages of the room are two days old.
AGE = """
from datetime import timedelta
from django.utils import timezone
from rooms.models import Message, Question, Room
Room.objects.filter(slug={room!r}).update(keep_days=1)
at = timezone.now() - timedelta(days=2)
Question.objects.filter(pk={old!r}).update(asked_at=at, settled_at=at)
Message.objects.filter(room__slug={room!r}).update(created_at=at)
"""


def test_a_site_removes_old_entries_by_itself(bridge: Bridge, agent: Agent) -> None:
    old, recent = agent.ask(), agent.ask()
    agent.send("A line from two days ago")
    person = bridge.person()
    for question in (old, recent):
        person.answer(question, "SQLite")
    script = AGE.format(room=agent.room, old=old["id"])
    done = run_manage(bridge.environment, "shell", "-v0", "-c", script)
    assert done.returncode == 0, done.stderr

    eventually(lambda: agent.get(agent.question_url(old["id"])).status_code == 404, REMOVAL_SECONDS)
    assert agent.read(recent["id"])["status"] == "answered"
    eventually(lambda: "two days ago" not in agent.get(agent.messages_url).text, REMOVAL_SECONDS)
    verified = run_manage(bridge.environment, "verify_audit")
    assert verified.stdout.startswith("All is well"), verified.stdout + verified.stderr
