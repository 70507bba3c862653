"""`ask-bridge withdraw`: withdraws a question."""

from tests.client.conftest import Command
from tests.harness.agents import Agent
from tests.harness.people import Person


def test_an_answered_question_cannot_be_withdrawn(command: Command, agent: Agent, person: Person) -> None:
    question = agent.ask()
    person.answer(question, "SQLite")
    done = command.run("withdraw", question["id"])
    assert (done.returncode, done.stdout) == (1, "")
    assert "answered already" in done.stderr
