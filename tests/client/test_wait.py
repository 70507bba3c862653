"""`ask-bridge wait`: waits for the answer to an earlier question."""

from collections.abc import Callable

from tests.client.conftest import Command, ends
from tests.client.loopback import Front
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


def test_an_outage_while_it_waits_changes_nothing(
    front: Front, agent: Agent, make_command: Callable[..., Command], person: Person
) -> None:
    question = agent.ask()
    with make_command(front.url, agent).start("wait", question["id"]) as process:
        eventually(lambda: front.calls("GET"))
        front.fail_for_a_while()
        person.answer(question, "SQLite")
        code, printed, _ = ends(process)
    assert (code, printed) == (0, "SQLite\n")
