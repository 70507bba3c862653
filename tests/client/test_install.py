"""`ask-bridge install` and `uninstall`: change only the hooks of Ask Bridge in the settings file."""

import json
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bridge_client.archive import archive as client_archive
from tests.client.conftest import Command

OTHERS: dict[str, Any] = {
    "model": "opus",
    "hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "check-bash"}]},
            {"matcher": "AskUserQuestion", "hooks": [{"type": "command", "command": "say ding"}]},
        ],
        "Stop": [{"hooks": [{"type": "command", "command": "ding"}]}],
    },
    "env": {"ÄPFEL": "1"},
}


@pytest.fixture
def user_file(command: Command) -> Path:
    return Path(command.environment["HOME"]) / ".claude" / "settings.json"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def own_hooks(path: Path) -> dict[str, Any]:
    """The hooks of Ask Bridge by event."""
    found = {}
    for event, groups in json.loads(path.read_text()).get("hooks", {}).items():
        for group in groups:
            for hook in group["hooks"]:
                if "bridge" in hook.get("command", "") or "hooks/claude-code" in hook.get("url", ""):
                    assert group["matcher"] == "AskUserQuestion|AskFollowupQuestion"
                    assert event not in found
                    found[event] = hook
    return found


def install(command: Command, *flags: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    return command.run("install", "claude-code", *flags, **options)


def uninstall(command: Command, *flags: str) -> "subprocess.CompletedProcess[str]":
    return command.run("uninstall", "claude-code", *flags)


def test_both_asks_beside_the_dialog_and_reports_its_answer(command: Command, user_file: Path) -> None:
    done = install(command, "--user", "--both", "--yes")
    assert done.returncode == 0, done.stderr
    hooks = own_hooks(user_file)
    assert set(hooks) == {"PermissionRequest", "PostToolUse"}
    assert "hook --timeout 43200" in hooks["PermissionRequest"]["command"]
    assert hooks["PermissionRequest"]["timeout"] == 43215
    assert hooks["PostToolUse"]["command"].endswith(" hook")


def test_web_first_blocks_the_call(command: Command, user_file: Path) -> None:
    install(command, "--web-first", "--timeout", "60", "--yes")
    hooks = own_hooks(user_file)
    assert set(hooks) == {"PreToolUse", "PostToolUse"}
    assert hooks["PreToolUse"]["command"].endswith("hook --timeout 60")
    assert hooks["PreToolUse"]["timeout"] == 75


def test_the_command_that_was_written_runs_from_anywhere(command: Command, user_file: Path) -> None:
    install(command, "--yes")
    line = own_hooks(user_file)["PermissionRequest"]["command"]
    done = subprocess.run(
        ["sh", "-c", line],
        input='{"hook_event_name": "Stop"}',
        env={"PATH": "/usr/bin:/bin"},
        cwd="/",
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_zipapp_names_itself(command: Command, user_file: Path, tmp_path: Path) -> None:
    archive = tmp_path / "with a space" / "ask-bridge.pyz"
    archive.parent.mkdir()
    archive.write_bytes(client_archive())
    environment = {**command.environment, "PYTHONPATH": ""}
    done = subprocess.run(
        [sys.executable, str(archive), "install", "claude-code", "--yes"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    written = shlex.split(own_hooks(user_file)["PostToolUse"]["command"])
    assert written == [sys.executable, str(archive), "hook"]
    assert uninstall(command, "--yes").returncode == 0
    assert own_hooks(user_file) == {}


def test_everything_else_stays_in_its_place(command: Command, user_file: Path) -> None:
    before = json.dumps(OTHERS, indent=4, ensure_ascii=False)
    write(user_file, before)
    install(command, "--web-first", "--yes")
    text = user_file.read_text()
    assert list(json.loads(text)) == ["model", "hooks", "env"]
    assert '    "model": "opus"' in text
    assert "ÄPFEL" in text
    assert json.loads(text)["hooks"]["PreToolUse"][:2] == OTHERS["hooks"]["PreToolUse"]
    uninstall(command, "--yes")
    assert user_file.read_text() == before


def test_an_empty_file_is_empty_again_afterwards(command: Command, user_file: Path) -> None:
    write(user_file, "{}\n")
    install(command, "--yes")
    uninstall(command, "--yes")
    assert user_file.read_text() == "{}\n"


def test_a_second_install_changes_nothing(command: Command, user_file: Path) -> None:
    write(user_file, json.dumps(OTHERS))
    install(command, "--yes")
    before = user_file.read_text()
    done = install(command)
    assert done.returncode == 0
    assert "already" in done.stdout
    assert user_file.read_text() == before


def test_another_mode_replaces_the_first(command: Command, user_file: Path) -> None:
    install(command, "--both", "--yes")
    install(command, "--web-first", "--yes")
    assert set(own_hooks(user_file)) == {"PreToolUse", "PostToolUse"}
    install(command, "--web-first", "--timeout", "60", "--yes")
    assert own_hooks(user_file)["PreToolUse"]["timeout"] == 75


def test_the_change_is_shown_before_it_is_made(command: Command, user_file: Path) -> None:
    write(user_file, json.dumps(OTHERS, indent=2))
    before = user_file.read_text()
    done = install(command, stdin="n\n")
    assert done.returncode == 1
    assert '+    "PermissionRequest": [' in done.stdout
    assert "Write this?" in done.stdout
    assert user_file.read_text() == before
    assert install(command, stdin="").returncode == 1
    assert user_file.read_text() == before
    assert install(command, stdin="y\n").returncode == 0
    assert own_hooks(user_file)


def test_a_project_gets_no_path_of_this_machine(command: Command, user_file: Path) -> None:
    done = install(command, "--project", "--room", "ops", "--yes")
    assert done.returncode == 0, done.stderr
    hooks = own_hooks(command.folder / ".claude" / "settings.json")
    assert hooks["PermissionRequest"]["command"] == "ask-bridge hook --timeout 43200 --room ops"
    assert not user_file.exists()
    uninstall(command, "--project", "--yes")
    assert (command.folder / ".claude" / "settings.json").read_text() == "{}\n"


def test_hooks_of_an_older_version_are_updated(command: Command, user_file: Path) -> None:
    """A hook alone in its group is updated in place; one beside another hook gets its own group."""
    install(command, "--yes")
    settings = json.loads(user_file.read_text())
    for groups in settings["hooks"].values():
        groups[0]["matcher"] = "AskUserQuestion"
        groups.append({"matcher": "Bash", "hooks": [{"type": "command", "command": "check-bash"}]})
    settings["hooks"]["PostToolUse"][0]["hooks"].append({"type": "command", "command": "say ding"})
    write(user_file, json.dumps(settings))
    assert install(command, "--yes").returncode == 0
    hooks = json.loads(user_file.read_text())["hooks"]
    both = "AskUserQuestion|AskFollowupQuestion"
    assert [group["matcher"] for group in hooks["PermissionRequest"]] == [both, "Bash"]
    assert [group["matcher"] for group in hooks["PostToolUse"]] == ["AskUserQuestion", "Bash", both]
    assert set(own_hooks(user_file)) == {"PermissionRequest", "PostToolUse"}


def test_http_needs_nothing_but_the_key_in_the_environment(
    command: Command, user_file: Path, url: str
) -> None:
    done = install(command, "--http", "--yes")
    assert done.returncode == 0, done.stderr
    room, key = command.environment["ASK_BRIDGE_ROOM"], command.environment["ASK_BRIDGE_KEY"]
    hooks = own_hooks(user_file)
    address = f"{url}/api/v1/rooms/{room}/hooks/claude-code"
    assert hooks["PermissionRequest"] == {
        "type": "http",
        "url": f"{address}?timeout=43200",
        "headers": {"Authorization": "Bearer $ASK_BRIDGE_KEY"},
        "allowedEnvVars": ["ASK_BRIDGE_KEY"],
        "statusMessage": "Asking the room",
        "timeout": 43215,
    }
    assert hooks["PostToolUse"]["url"] == address
    assert key not in user_file.read_text()
    uninstall(command, "--yes")
    assert own_hooks(user_file) == {}


def test_flags_are_stored_for_the_hooks(command: Command, url: str) -> None:
    key, room = command.environment.pop("ASK_BRIDGE_KEY"), command.environment.pop("ASK_BRIDGE_ROOM")
    command.environment.pop("ASK_BRIDGE_URL")
    done = install(command, "--url", url, "--key", key, "--room", room, "--yes")
    assert done.returncode == 0, done.stderr
    assert key not in done.stdout
    assert command.run("doctor").returncode == 0
    kept = Path(command.environment["HOME"]) / ".config" / "ask-bridge" / "config.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_flags_that_cannot_be_right_are_refused_before_anything_is_written(
    command: Command, user_file: Path
) -> None:
    assert install(command, "--key", "nonsense", "--yes").returncode == 2
    assert not user_file.exists()


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"hooks": []}', '{"hooks": {"PreToolUse": {}}}', '{"hooks": {"PostToolUse": [7]}}']
)
def test_a_file_of_another_shape_is_not_changed(command: Command, user_file: Path, text: str) -> None:
    write(user_file, text)
    done = install(command, "--yes")
    assert done.returncode == 2
    assert "it was not changed" in done.stderr
    assert user_file.read_text() == text


def test_a_link_stays_a_link_and_the_mode_stays(command: Command, user_file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o640)
    user_file.parent.mkdir()
    user_file.symlink_to(real)
    install(command, "--yes")
    assert user_file.is_symlink()
    assert own_hooks(real)
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert os.listdir(user_file.parent) == ["settings.json"]


def test_the_config_folder_of_claude_code_is_used(command: Command, user_file: Path, tmp_path: Path) -> None:
    assert install(command, "--yes", CLAUDE_CONFIG_DIR=str(tmp_path / "other")).returncode == 0
    assert own_hooks(tmp_path / "other" / "settings.json")
    assert not user_file.exists()


def test_uninstall_without_hooks_changes_nothing(command: Command, user_file: Path) -> None:
    done = uninstall(command)
    assert (done.returncode, user_file.exists()) == (0, False)
    assert "no hooks of Ask Bridge" in done.stdout
