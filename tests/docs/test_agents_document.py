"""docs/agents.md says what the code does: its blocks are the ones that work, its commands exist."""

import json
import re
from typing import Any

from django.template.loader import render_to_string

from bridge_client.cli import build_parser
from rooms.contract.care import Care
from tests.harness.sites import ROOT

DOCUMENT = (ROOT / "docs" / "agents.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT, re.DOTALL)


def connect_block(name: str) -> str:
    bridge, room = "https://YOUR-BRIDGE", "ROOM"
    context = {
        "key": "abk_…",
        "room": room,
        "bridge": bridge,
        "ask_address": f"{bridge}/api/v1/rooms/{room}/questions",
        "hook_address": f"{bridge}/api/v1/rooms/{room}/hooks/claude-code",
        "archive_address": f"{bridge}/ask-bridge.pyz",
    }
    return render_to_string(f"ask_bridge/connect/{name}.txt", context)


def with_key_in_place(block: Any) -> Any:
    """The document keeps the key in the environment, the page has it in the block; the rest is the same."""
    for groups in block["hooks"].values():
        for hook in (hook for group in groups for hook in group["hooks"]):
            if hook.pop("allowedEnvVars", None):
                hook["headers"] = {"Authorization": "Bearer abk_…"}
    return block


def test_hooks_are_the_ones_of_the_connect_page() -> None:
    hooks, _ = map(json.loads, blocks("json"))
    assert with_key_in_place(hooks) == json.loads(connect_block("http"))


def test_mcp_server_is_the_one_of_the_connect_page() -> None:
    _, server = map(json.loads, blocks("json"))
    assert server == json.loads(connect_block("mcp"))


def test_sdk_lines_stand_in_the_program_of_the_connect_page() -> None:
    [lines] = blocks("python")
    program = connect_block("sdk")
    assert "bridge = Client(" in lines
    for line in lines.splitlines():
        if line.startswith("from bridge_client") or "Client(" in line:
            assert line in program


def test_careful_questions_have_every_field_and_every_flag() -> None:
    section = DOCUMENT.partition("## Careful questions\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \|", section, re.MULTILINE)
    assert [name for name, _ in rows] == list(Care.model_fields)
    [commands] = [action for action in build_parser("ask")._actions if action.dest == "command"]
    assert isinstance(commands.choices, dict)
    [group] = [group for group in commands.choices["ask"]._action_groups if group.title == "care"]
    flags = [flag for _, cell in rows for flag in re.findall(r"`(--[a-z-]+)`", cell)]
    assert flags == [action.option_strings[0] for action in group._group_actions]


def test_care_of_the_document_is_care() -> None:
    [care] = re.findall(r"^export ASK_BRIDGE_CARE='(.+)'$", DOCUMENT, re.MULTILINE)
    assert Care.model_validate_json(care).votes_needed == 2
