"""Agent keys, in use or mistyped, rotated or revoked: none is in the database or in a log."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge, running_bridge
from tests.harness.people import Person
from tests.harness.sites import run_manage

KEY = re.compile(r"abk_[0-9a-z]{10}_[0-9a-z]{40}")
# Access is looked at again every ten seconds.
ENDED_SECONDS = 30

MAKE_ANA_A_MANAGER = """
from django.contrib.auth import get_user_model
from rooms.models import Membership, Room
ana = get_user_model().objects.get(username="ana")
room = Room.objects.get(slug={room!r})
Membership.objects.update_or_create(room=room, user=ana, defaults={{"role": "manager"}})
"""
EXPIRE_IN_A_SECOND = """
from datetime import timedelta
from django.utils import timezone
from rooms.models import AgentKey
AgentKey.objects.filter(lookup={lookup!r}).update(expires_at=timezone.now() + timedelta(seconds=1))
"""


def manage(bridge: Bridge, *arguments: str) -> str:
    done = run_manage(bridge.environment, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def use(agent: Agent, ana: Person) -> None:
    """All that an agent does with its key, and all that goes wrong."""
    question = agent.ask()
    with agent.waiting(question["id"]) as wait, agent.events() as events:
        ana.answer(question, "SQLite")
        assert wait.result()["status"] == "answered"
        assert events.next()["type"] == "AskUserQuestionResponse"
    agent.send("done")
    agent.call("POST", f"{agent.path}/hooks/claude-code", {"hook_event_name": "PreToolUse"})
    agent.call("POST", f"{agent.path}/questions", {"questions": agent.key})
    agent.call("GET", f"/api/v1/questions/{agent.key}")
    mistyped = Agent(agent.site, agent.room, agent.key[:-1] + ("1" if agent.key[-1] == "0" else "0"))
    assert mistyped.call("GET", f"{agent.path}/questions").status == 401


def dump(bridge: Bridge, data: Path) -> bytes:
    """Everything that is stored, as a thief of the disk reads it."""
    if url := bridge.environment.get("DATABASE_URL"):
        return subprocess.run(["pg_dump", "--dbname", url], check=True, capture_output=True).stdout
    return b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())


@pytest.mark.parametrize("kind", ["embedded", "scaled"])
def test_no_key_is_in_the_database_or_the_log(kind: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running_bridge(kind, data, open_rooms=["ops"]) as bridge:
        manage(bridge, "shell", "-v0", "-c", MAKE_ANA_A_MANAGER.format(room="ops"))
        ana = bridge.person("ana")
        made = [
            *KEY.findall(bridge.greeting)[:1],
            bridge.keys["ops"],
            manage(bridge, "createkey", "ops", "--label", "bot", "--expires-in-days", "1"),
            *KEY.findall(ana.post("/rooms/ops/connect", {"label": "bot"}).text)[:1],
        ]
        rotated = made[-1].split("_")[1]
        made += KEY.findall(ana.post("/rooms/ops/connect/rotate", {"key": rotated}).text)[:1]
        assert len(set(made)) == 5
        for text in made[1:]:
            use(Agent(bridge.site, "ops", text), ana)

        expiring = Agent(bridge.site, "ops", made[2])
        with expiring.waiting(expiring.ask()["id"]) as wait:
            manage(bridge, "shell", "-v0", "-c", EXPIRE_IN_A_SECOND.format(lookup=made[2].split("_")[1]))
            assert wait.reply(ENDED_SECONDS).status == 401

        revoked = Agent(bridge.other_site, "ops", made[-1])
        with revoked.waiting(revoked.ask()["id"]) as wait:
            assert ana.post("/rooms/ops/connect/revoke", {"key": made[-1].split("_")[1]}).status == 302
            assert wait.reply(ENDED_SECONDS).status == 401

        assert manage(bridge, "verify_audit").startswith("All is well")
        stored = dump(bridge, data).decode(errors="replace")
        log = "".join(site.stop()[1] for site in bridge.sites)
        stored += dump(bridge, data).decode(errors="replace")
    for text in made:
        _, lookup, secret = text.split("_")
        assert lookup in stored, "this is not where the keys are kept"
        assert secret not in stored
        assert secret not in log
