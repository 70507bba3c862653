"""`ask-bridge memory`: earlier answers to similar questions."""

import json
from typing import Any

from tests.client.conftest import Command
from tests.harness.agents import Agent
from tests.harness.people import Person


def lines(printed: str) -> list[Any]:
    return [json.loads(line) for line in printed.splitlines()]


def test_memory_prints_what_was_answered_before(command: Command, agent: Agent, person: Person) -> None:
    question = agent.ask()
    person.answer(question, "SQLite")
    done = command.run("memory", "Which database?")
    assert done.returncode == 0, done.stderr
    asked, decided = done.stdout.splitlines()
    assert asked == "100%  Which database?"
    assert decided.strip().startswith(f"SQLite (by {person.name}, 20")
    assert decided.endswith(question["url"])


def test_memory_takes_a_room_and_prints_json(command: Command, agent: Agent, person: Person) -> None:
    question = agent.ask()
    person.answer(question, "SQLite")
    done = command.run("memory", agent.room, "Which database then?", "--json", ASK_BRIDGE_ROOM="")
    (memory,) = lines(done.stdout)
    assert memory["question"]["id"] == question["id"]
    assert 0.6 <= memory["similarity"] < 1


def test_nothing_similar_prints_nothing(command: Command) -> None:
    done = command.run("memory", "Never asked before?")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
