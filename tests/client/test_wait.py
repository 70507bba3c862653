"""`ask-bridge wait`: waits for the answer to an earlier question."""

from tests.client.conftest import Command
from tests.harness.agents import Agent
from tests.harness.people import Person
from tests.harness.timing import eventually


def test_wait_returns_the_answer(command: Command, agent: Agent, person: Person) -> None:
    question = agent.ask()
    done = command.run("wait", question["id"], "--timeout", "0.3", ASK_BRIDGE_ROOM="")
    assert (done.returncode, done.stdout) == (4, "")
    assert f"ask-bridge wait {question['id']}" in done.stderr
    person.answer(question, "SQLite")
    done = command.run("wait", question["id"])
    assert (done.returncode, done.stdout) == (0, "SQLite\n")
    eventually(lambda: agent.read(question["id"])["delivered_at"])
