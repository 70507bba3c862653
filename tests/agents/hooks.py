"""Our hooks as people put them into Claude Code's settings: as the command, or as addresses of the bridge."""

import shlex
import sys

from bridge_client.claude_code.envelopes import MATCHER
from tests.agents.scripted_model import Json
from tests.harness.agents import Agent
from tests.harness.sites import ROOT

COMMAND = [sys.executable, "-m", "bridge_client"]


def variables(room: Agent) -> dict[str, str]:
    """What the command finds in its environment."""
    return {
        "PYTHONPATH": str(ROOT),
        "ASK_BRIDGE_URL": f"http://127.0.0.1:{room.site.port}",
        "ASK_BRIDGE_ROOM": room.room,
        "ASK_BRIDGE_KEY": room.key,
    }


def hooks(kind: str, room: Agent, *events: str, timeout: float = 60) -> Json:
    """Settings with our hooks for these events."""
    made = {"command": _command, "http": _http}[kind]
    return {"hooks": {event: [{"matcher": MATCHER, "hooks": [made(room, timeout)]}] for event in events}}


def _command(room: Agent, timeout: float) -> Json:
    return {"type": "command", "command": shlex.join([*COMMAND, "hook", "--timeout", str(timeout)])}


def _http(room: Agent, timeout: float) -> Json:
    return {
        "type": "http",
        "url": f"http://127.0.0.1:{room.site.port}{room.path}/hooks/claude-code?timeout={timeout}",
        "headers": {"Authorization": f"Bearer {room.key}"},
    }
