"""`ask-bridge send`: a message from a shell."""

from typing import Any

from tests.client.conftest import Command
from tests.harness.agents import Agent


def messages(agent: Agent) -> list[Any]:
    found: list[Any] = agent.call("GET", f"{agent.path}/messages").json()["messages"]
    return found


def test_a_message_is_sent(command: Command, agent: Agent) -> None:
    done = command.run("send", "Migration finished", "--sender", "bot", "--color", "#818cf8")
    (message,) = messages(agent)
    assert (done.returncode, done.stdout) == (0, f"Message sent: {message['id']}\n")
    assert (message["content"], message["sender"], message["type"]) == (
        "Migration finished",
        "bot",
        "message",
    )


def test_a_log_can_be_piped_in(command: Command, agent: Agent) -> None:
    assert command.run("send", "-", "--log", stdin="one\ntwo\n").returncode == 0
    (message,) = messages(agent)
    assert (message["content"], message["type"]) == ("one\ntwo\n", "log")
