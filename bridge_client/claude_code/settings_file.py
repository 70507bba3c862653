"""Claude Code's settings file: adds, updates and removes the hooks of Ask Bridge, and keeps the rest."""

from __future__ import annotations

import copy
import json
import os
import re
import shlex
import sys
from collections.abc import Mapping
from typing import Any

from bridge_client.claude_code.envelopes import EVENTS, MATCHER, TOOL
from bridge_client.errors import SettingsError
from bridge_client.settings import Settings

# The events of each mode: the room before the terminal's dialog, or beside it. In both modes a person can
# answer in the terminal, and PostToolUse then closes the card.
MODES = {"web-first": ("PreToolUse", "PostToolUse"), "both": ("PermissionRequest", "PostToolUse")}

# With `web-first` a person at the terminal waits for the room. With `both` no person waits, and a question
# that was left open overnight can still be answered on the web in the morning.
TIMEOUT_SECONDS = {"web-first": 300, "both": 12 * 3600}
# Claude Code stops a hook after the timeout in its settings: the hook's own timeout is shorter by this.
MARGIN_SECONDS = 15
# The terminal shows this beside its spinner.
STATUS_MESSAGE = "Asking the room"
# A report is one or two short calls.
REPORT_TIMEOUT_SECONDS = 30

# Match both forms that this module writes, with any path to the command, and no hooks of other tools.
OWN_COMMAND = re.compile(r"(^|[\s/'\"])(ask-bridge[^/'\"]*|bridge_client)['\"]? hook( |$)")
OWN_URL = re.compile(r"/api/v1/rooms/[^/]+/hooks/claude-code(\?|$)")


def path_for(scope: str, environ: Mapping[str, str]) -> str:
    """The path for this scope: of the user, or of the project in this folder."""
    if scope == "project":
        return os.path.join(os.getcwd(), ".claude", "settings.json")
    folder = environ.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude")
    return os.path.join(folder, "settings.json")


def command_hook(event: str, timeout_seconds: int, room: str, *, is_shared: bool) -> dict[str, Any]:
    """A hook that runs `ask-bridge hook`; a shared file names it without the paths of this machine."""
    words = ["ask-bridge"] if is_shared else _own_command()
    words.append("hook")
    if event != "PostToolUse":
        words += ["--timeout", str(timeout_seconds)]
    if room:
        words += ["--room", room]
    return {"type": "command", "command": shlex.join(words), **_timeout_fields(event, timeout_seconds)}


def http_hook(event: str, timeout_seconds: int, settings: Settings) -> dict[str, Any]:
    """A hook that calls the bridge over HTTP; the key stays in the environment."""
    wait = "" if event == "PostToolUse" else f"?timeout={timeout_seconds}"
    return {
        "type": "http",
        "url": f"{settings.url}/api/v1/rooms/{settings.room}/hooks/claude-code{wait}",
        "headers": {"Authorization": "Bearer $ASK_BRIDGE_KEY"},
        "allowedEnvVars": ["ASK_BRIDGE_KEY"],
        **_timeout_fields(event, timeout_seconds),
    }


def _timeout_fields(event: str, timeout_seconds: int) -> dict[str, Any]:
    """How long Claude Code lets the hook run, and what it shows during that time."""
    if event == "PostToolUse":
        return {"timeout": REPORT_TIMEOUT_SECONDS}
    return {"statusMessage": STATUS_MESSAGE, "timeout": timeout_seconds + MARGIN_SECONDS}


def _own_command() -> list[str]:
    """The command that started this program, so that it works from any folder and with any PATH."""
    program = os.path.abspath(sys.argv[0])
    name = os.path.basename(program)
    if name == "ask-bridge" and os.access(program, os.X_OK):
        return [program]
    if name.endswith(".pyz"):
        return [sys.executable, program]
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if os.path.basename(root) in ("site-packages", "dist-packages"):
        return [sys.executable, "-m", "bridge_client"]
    # From a source tree: Python finds the package only with this path.
    return ["env", f"PYTHONPATH={root}", sys.executable, "-m", "bridge_client"]


# ---- content ---------------------------------------------------------------------------------------------


def with_hooks(settings: dict[str, Any], wanted: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """The settings with exactly these hooks of Ask Bridge, each in its old place or at the end."""
    changed = copy.deepcopy(settings)
    hooks = changed.setdefault("hooks", {})
    for event in EVENTS:
        groups = _groups_with(hooks.get(event, []), wanted.get(event))
        # A list that was empty before stays; one that becomes empty by this change goes.
        if groups or hooks.get(event) == []:
            hooks[event] = groups
        else:
            hooks.pop(event, None)
    if not hooks and settings.get("hooks") != {}:
        del changed["hooks"]
    return changed


def _groups_with(groups: list[dict[str, Any]], hook: dict[str, Any] | None) -> list[dict[str, Any]]:
    changed = []
    for group in groups:
        if group.get("matcher") == TOOL and group["hooks"] and all(map(is_own, group["hooks"])):
            # A group of an older version, which knew only one tool.
            group = {**group, "matcher": MATCHER}
        kept = []
        for each in group["hooks"]:
            if not is_own(each):
                kept.append(each)
            elif hook and group.get("matcher") == MATCHER:
                kept.append(hook)
                hook = None
        if kept or not group["hooks"]:
            changed.append({**group, "hooks": kept})
    return [*changed, {"matcher": MATCHER, "hooks": [hook]}] if hook else changed


def without_hooks(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without the hooks of Ask Bridge, and without lists that become empty."""
    return with_hooks(settings, {})


def is_own(hook: Any) -> bool:
    if not isinstance(hook, dict):
        return False
    if hook.get("type") == "http":
        return bool(OWN_URL.search(str(hook.get("url", ""))))
    return bool(OWN_COMMAND.search(str(hook.get("command", ""))))


# ---- file ------------------------------------------------------------------------------------------------


def read(path: str) -> tuple[str, dict[str, Any]]:
    """The text and the content of the file; both empty if it does not exist."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return "", {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"Cannot read {path}: {error}") from None
    try:
        settings = json.loads(text) if text.strip() else {}
        _check_shape(settings)
    except (ValueError, RecursionError) as error:
        raise SettingsError(
            f"{path} is not a settings file of Claude Code ({error}); it was not changed"
        ) from None
    return text, settings


def _check_shape(settings: Any) -> None:
    if not isinstance(settings, dict) or not isinstance(settings.get("hooks", {}), dict):
        raise ValueError("it is not an object of settings")
    for event in EVENTS:
        groups = settings.get("hooks", {}).get(event, [])
        if not isinstance(groups, list) or not all(
            isinstance(group, dict) and isinstance(group.get("hooks"), list) for group in groups
        ):
            raise ValueError(f"{event} is not a list of hooks")


def as_text(settings: dict[str, Any], before: str) -> str:
    """The settings as JSON, with the indentation and the final line break of the text before."""
    indented = re.search(r"^([ \t]+)\S", before, re.MULTILINE)
    text = json.dumps(settings, indent=indented.group(1) if indented else 2, ensure_ascii=False)
    return text if before and not before.endswith("\n") else text + "\n"


def write(path: str, text: str) -> None:
    """Replace the file atomically; a link stays a link, and the file keeps its mode."""
    target = os.path.realpath(path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    temporary = f"{target}.{os.getpid()}"
    mode: int | None = os.stat(target).st_mode & 0o777 if os.path.exists(target) else None
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, target)
    except OSError as error:
        raise SettingsError(f"Cannot write {path}: {error.strerror}") from None
