"""The client needs only Python 3.9 or newer: no packages, no Django, no server code."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bridge_client.archive import archive as client_archive
from tests.client.conftest import Command, ends
from tests.harness.agents import Agent
from tests.harness.people import Person
from tests.harness.sites import ROOT
from tests.harness.timing import eventually

PACKAGE = ROOT / "bridge_client"
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if path.name != "__main__.py"
)


def is_version(program: str, version: str) -> bool:
    asked = [program, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=30)
    except OSError:
        return False
    return done.stdout.strip() == version


@pytest.fixture(scope="module", params=["3.9", "3.13"])
def some_python(request: pytest.FixtureRequest) -> str:
    """The oldest and the newest that the client runs on."""
    version: str = request.param
    places = Path.home().glob(f".pyenv/versions/{version}.*/bin/python3")
    for program in [shutil.which(f"python{version}"), *map(str, places)]:
        if program and is_version(program, version):
            return program
    pytest.skip(f"needs a Python {version} (python{version} on the PATH, or one of pyenv)")


def loaded_by(python: str, *modules: str) -> set[str]:
    """The top-level modules in a process without site-packages that imported these."""
    code = (
        "import sys, json\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "before = set(sys.modules)\n"
        f"for name in {modules!r}: __import__(name)\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in set(sys.modules) - before})))"
    )
    done = subprocess.run([python, "-S", "-W", "error", "-c", code], capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


def test_only_the_standard_library_is_imported() -> None:
    loaded = loaded_by(sys.executable, *MODULES)
    assert loaded - set(sys.stdlib_module_names) == {"bridge_client"}


def test_every_module_imports_on_the_oldest_and_the_newest_python(some_python: str) -> None:
    loaded = loaded_by(some_python, *MODULES)
    assert not loaded & {"django", "rooms", "bridge", "mcp", "claude_agent_sdk"}


def test_a_hook_on_this_machine_starts_without_what_it_does_not_need() -> None:
    loaded = loaded_by(sys.executable, "bridge_client.commands.hook", "bridge_client.cli")
    assert not loaded & {"asyncio", "concurrent", "difflib", "shlex", "shutil", "subprocess", "tempfile"}


def test_the_oldest_and_the_newest_python_ask_and_answer(
    some_python: str, make_command: Callable[..., Command], url: str, agent: Agent, person: Person
) -> None:
    command = make_command(url, agent, python=some_python)
    with command.start("ask", "Go on?", "--option", "Yes", "--option", "No") as process:
        (question,) = eventually(agent.open_questions)
        person.answer(question, "Yes")
        assert ends(process)[:2] == (0, "Yes\n")
    assert command.run("doctor").returncode == 0
    assert command.run("install", "claude-code", "--yes").returncode == 0
    assert command.run("send", "hello").returncode == 0
    assert command.run("poll").returncode == 0


def test_the_oldest_and_the_newest_python_run_the_hook(
    some_python: str, make_command: Callable[..., Command], url: str, agent: Agent, person: Person
) -> None:
    prompt = {"question": "Go on?", "header": "Go", "options": [{"label": "Yes"}, {"label": "No"}]}
    envelope: Any = {
        "hook_event_name": "PermissionRequest",
        "tool_name": "AskUserQuestion",
        "session_id": "s",
        "prompt_id": "p",
        "cwd": "/",
        "tool_input": {"questions": [prompt]},
    }
    command = make_command(url, agent, python=some_python)
    with command.start("hook", stdin=envelope) as process:
        (question,) = eventually(agent.open_questions)
        person.answer(question, "Yes")
        code, printed, errors = ends(process)
    assert (code, errors) == (0, "")
    assert json.loads(printed)["hookSpecificOutput"]["decision"]["behavior"] == "allow"


def test_a_zipapp_is_the_whole_client(
    make_command: Callable[..., Command], url: str, agent: Agent, tmp_path: Path
) -> None:
    archive = tmp_path / "ask-bridge.pyz"
    archive.write_bytes(client_archive())
    command = make_command(url, agent)
    done = subprocess.run(
        [sys.executable, "-S", str(archive), "send", "hello"],
        env={**command.environment, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_a_zipapp_returns_the_exit_code(
    make_command: Callable[..., Command], url: str, agent: Agent, tmp_path: Path
) -> None:
    archive = tmp_path / "ask-bridge.pyz"
    archive.write_bytes(client_archive())
    ask = [
        sys.executable,
        str(archive),
        "ask",
        "Deploy?",
        "--option",
        "Yes",
        "--option",
        "No",
        "--timeout",
        "1",
    ]
    done = subprocess.run(ask, env=make_command(url, agent).environment, capture_output=True, text=True)
    assert done.returncode == 4, done.stderr
