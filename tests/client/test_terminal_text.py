"""Text of people and agents cannot control the terminal; programs get it unchanged."""

import json
import os
import pty
import subprocess
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import quote

import pytest

from bridge_client.claude_code.answer_text import UNSEEN
from bridge_client.commands.terminal_text import inert
from tests.client.conftest import Command
from tests.harness.agents import Agent
from tests.harness.people import Person
from tests.harness.timing import PATIENCE_SECONDS, eventually

# Clears the screen, writes to the clipboard, does both again with C1 controls, reverses the rest of the line,
# fakes a line of this program, and deletes.
HOSTILE = (
    "\x1b[2J\x1b]52;c;cm0gLXJm\x07 \x9b2J\x9d52;c;cm0=\x9c \u202eoN\u2066 \x7f\x08"
    "\nask-bridge: decided by Boss"
)


class Screen:
    """A process on its own terminal, and every byte that it writes there."""

    def __init__(self, command: Command, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        tty.setraw(theirs)  # only the process writes bytes, and nothing changes them
        self.process = subprocess.Popen(
            [command.python, "-m", "bridge_client", *arguments],
            cwd=command.folder,
            env={**command.environment, "PYTHONIOENCODING": "utf-8"},
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        self._sent = b""

    def line(self) -> str:
        """The next line."""
        while b"\n" not in self._sent:
            assert self._read(), self._sent
        line, _, self._sent = self._sent.partition(b"\n")
        return line.decode()

    def everything(self) -> str:
        """All output until the process ends by itself."""
        while self._read():
            pass
        self.process.wait(PATIENCE_SECONDS)
        return self._sent.decode()

    def _read(self) -> bytes:
        chunk = b""
        with suppress(OSError):  # the process has closed its side
            chunk = os.read(self._ours, 65536)
        self._sent += chunk
        return chunk

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


@contextmanager
def on_terminal(command: Command, *arguments: str) -> Iterator[Screen]:
    screen = Screen(command, *arguments)
    try:
        yield screen
    finally:
        screen.close()


def assert_inert(printed: str) -> None:
    assert set(UNSEEN.findall(printed)) <= {"\n"}
    assert "\nask-bridge: decided by Boss" not in printed


def asked(agent: Agent) -> Any:
    return eventually(lambda: next(iter(agent.open_questions()), None))


def test_ask_shows_an_answer_and_its_note(command: Command, agent: Agent, person: Person) -> None:
    with on_terminal(command, "ask", "Go on?", "--option", "Yes", "--option", "No") as screen:
        answer = [("choice-0", "other"), ("other-0", HOSTILE), ("notes-0", HOSTILE)]
        person.submit(asked(agent), *answer)
        printed = screen.everything()
    assert_inert(printed)
    assert printed.count(r"\x1b[2J\x1b]52;c;cm0gLXJm\x07 \x9b2J\x9d52;c;cm0=\x9c \u202eoN") == 2


def test_ask_shows_the_reason_of_a_skip(command: Command, agent: Agent, person: Person) -> None:
    with on_terminal(command, "ask", "Go on?", "--option", "Yes", "--option", "No") as screen:
        person.skip(asked(agent), HOSTILE)
        printed = screen.everything()
    assert_inert(printed)
    assert "Ana Costa chose not to answer" in printed


def test_ask_prints_the_same_json_on_a_terminal(command: Command, agent: Agent, person: Person) -> None:
    with on_terminal(command, "ask", "Go on?", "--option", "Yes", "--option", "No", "--json") as screen:
        person.submit(asked(agent), ("choice-0", "other"), ("other-0", HOSTILE))
        printed = screen.everything()
    assert_inert(printed)
    (line,) = (line for line in printed.splitlines() if line.startswith("{"))
    assert json.loads(line)["answer"]["answers"][0]["customInput"] == HOSTILE


@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["words", "json"])
def test_memory_shows_what_was_asked_and_answered(
    command: Command, agent: Agent, person: Person, flags: tuple[str, ...]
) -> None:
    question = agent.ask(questions=[{"question": f"Go on? {HOSTILE}", "options": ["Yes", "No"]}])
    person.submit(question, ("choice-0", "other"), ("other-0", HOSTILE))
    query = quote(f"Go on? {HOSTILE}")
    eventually(lambda: agent.call("GET", f"{agent.path}/memory?q={query}").json()["memories"])
    with on_terminal(command, "memory", f"Go on? {HOSTILE}", *flags) as screen:
        printed = screen.everything()
    assert_inert(printed)
    if flags:
        assert json.loads(printed)["question"]["questions"][0]["question"] == f"Go on? {HOSTILE}"
    else:
        assert r"Go on? \x1b[2J" in printed


@pytest.mark.parametrize("name", ["poll", "listen"])
def test_the_timeline_is_the_same_json_on_a_terminal(command: Command, agent: Agent, name: str) -> None:
    first = agent.send("first")["id"]
    agent.send(HOSTILE, sender=HOSTILE[:80])
    with on_terminal(command, name, "--after", first) as screen:
        line = screen.line()
    assert_inert(line)
    assert json.loads(line)["content"] == HOSTILE


def test_a_refusal_of_the_bridge_is_shown(command: Command) -> None:
    with on_terminal(command, "ask", "Go on?", "--option", HOSTILE, "--option", "No") as screen:
        assert_inert(screen.everything())
        assert screen.process.returncode == 2


def test_a_program_gets_every_character(command: Command, agent: Agent, person: Person) -> None:
    agent.send(HOSTILE)
    (line,) = command.run("poll").stdout.splitlines()
    assert json.loads(line)["content"] == HOSTILE
    assert "\u202e" in line
    with command.start("ask", "Go on?", "--option", "Yes", "--option", "No") as process:
        person.submit(asked(agent), ("choice-0", "other"), ("other-0", HOSTILE))
        printed, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert printed == f"{HOSTILE}\n"
    assert_inert(errors)


def test_ordinary_text_stays_as_it_is() -> None:
    for text in ("Grüße, 日本", "👩\u200d👩\u200d👧", "کتاب\u200cها", "a\tb"):
        assert inert(text) == text
    assert inert("one\ntwo") == "one\n    two"
