"""`ask-bridge poll`: the messages of the room as lines of JSON."""

import json
from typing import Any

from tests.client.conftest import Command, ends
from tests.client.loopback import Front
from tests.harness.agents import Agent
from tests.harness.timing import eventually


def lines(printed: str) -> list[Any]:
    return [json.loads(line) for line in printed.splitlines()]


def test_poll_prints_everything_as_lines_of_json(command: Command, agent: Agent) -> None:
    sent = [agent.send(f"line {number}")["id"] for number in range(55)]
    done = command.run("poll")
    assert done.returncode == 0
    assert [message["id"] for message in lines(done.stdout)] == sent
    assert set(lines(done.stdout)[0]) == {
        "id",
        "sender",
        "sender_type",
        "type",
        "content",
        "question",
        "color",
        "created_at",
    }


def test_poll_starts_after_an_id_and_stops_at_a_limit(command: Command, agent: Agent) -> None:
    sent = [agent.send(f"line {number}")["id"] for number in range(3)]
    done = command.run("poll", agent.room, "--after", sent[0], "--limit", "1", ASK_BRIDGE_ROOM="")
    assert [message["id"] for message in lines(done.stdout)] == [sent[1]]


def test_poll_without_messages_prints_nothing(command: Command) -> None:
    done = command.run("poll", "--wait", "0.2")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_poll_waits_for_messages(front: Front, agent: Agent, make_command: Any) -> None:
    command = make_command(front.url, agent)
    with command.start("poll", "--wait") as process:
        eventually(lambda: front.calls("GET", "/messages"))
        agent.send("hello")
        code, printed, _ = ends(process)
    assert code == 0
    assert [message["content"] for message in lines(printed)] == ["hello"]


def test_poll_goes_on_waiting_over_an_outage(front: Front, agent: Agent, make_command: Any) -> None:
    with make_command(front.url, agent).start("poll", "--wait", "60", "--limit", "1") as process:
        eventually(lambda: front.calls("GET", "/messages"))
        front.fail_for_a_while()
        agent.send("hello")
        code, printed, _ = ends(process)
    assert code == 0
    assert [message["content"] for message in lines(printed)] == ["hello"]


def test_an_unknown_id_is_refused(command: Command) -> None:
    done = command.run("poll", "--after", "q_unknown")
    assert done.returncode == 2
    assert "q_unknown" in done.stderr
