"""`ask-bridge send`, `poll`, `listen` and `send-ask-question`: the timeline from a shell."""

import json
import signal
import subprocess
from typing import Any

import pytest

from tests.client.conftest import Command, ends
from tests.client.loopback import Front
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.people import Person
from tests.harness.timing import eventually

PAYLOAD = '{"question": "Which approach?", "options": [{"label": "A"}, {"label": "B"}]}'


def lines(printed: str) -> list[Any]:
    return [json.loads(line) for line in printed.splitlines()]


def messages(agent: Agent) -> list[Any]:
    found: list[Any] = agent.call("GET", f"{agent.path}/messages").json()["messages"]
    return found


# ---- send ------------------------------------------------------------------------------------------------


def test_a_line_is_sent(command: Command, agent: Agent) -> None:
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


# ---- poll ------------------------------------------------------------------------------------------------


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
        "color",
        "created_at",
    }


def test_poll_begins_behind_an_id_and_stops_at_a_limit(command: Command, agent: Agent) -> None:
    sent = [agent.send(f"line {number}")["id"] for number in range(3)]
    done = command.run("poll", agent.room, "--after", sent[0], "--limit", "1", ASK_BRIDGE_ROOM="")
    assert [message["id"] for message in lines(done.stdout)] == [sent[1]]


def test_poll_without_news_prints_nothing(command: Command) -> None:
    done = command.run("poll", "--wait", "0.2")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_poll_waits_for_news(front: Front, agent: Agent, make_command: Any) -> None:
    command = make_command(front.url, agent)
    with command.start("poll", "--wait") as process:
        eventually(lambda: front.calls("GET", "/messages"))
        agent.send("hello")
        code, printed, _ = ends(process)
    assert code == 0
    assert [message["content"] for message in lines(printed)] == ["hello"]


def test_an_unknown_id_is_refused(command: Command) -> None:
    done = command.run("poll", "--after", "q_unknown")
    assert done.returncode == 2
    assert "q_unknown" in done.stderr


# ---- listen ----------------------------------------------------------------------------------------------


def read_content(process: "subprocess.Popen[str]") -> str:
    assert process.stdout
    content: str = json.loads(process.stdout.readline())["content"]
    return content


def test_listen_prints_each_message_at_once(front: Front, agent: Agent, make_command: Any) -> None:
    with make_command(front.url, agent).start("listen") as process:
        eventually(lambda: front.bytes_sent)
        agent.send("one")
        assert read_content(process) == "one"
        agent.send("zwei äöü")
        assert read_content(process) == "zwei äöü"
        process.send_signal(signal.SIGTERM)
        assert ends(process)[0] == 143


def test_listen_finds_its_way_back_after_a_restart(own_bridge: Bridge, make_command: Any) -> None:
    agent = own_bridge.agent()
    first = agent.send("one")
    command = make_command(f"http://127.0.0.1:{own_bridge.site.port}", agent)
    with command.start("listen", agent.room, "--after", first["id"], ASK_BRIDGE_ROOM="") as process:
        agent.send("two")
        assert read_content(process) == "two"
        own_bridge.site.stop(signal.SIGKILL)
        agent.site = own_bridge.start_again()
        agent.send("three")
        assert read_content(process) == "three"


def test_a_reader_that_has_seen_enough_is_no_error(command: Command, agent: Agent) -> None:
    first = agent.send("one")
    with command.start("listen", "--after", first["id"]) as process:
        agent.send("two")
        assert read_content(process) == "two"
        assert process.stdout
        process.stdout.close()
        agent.send("three")
        assert process.wait(10) == 0
        assert process.stderr
        assert process.stderr.read() == ""
        process.stdout = None


# ---- send-ask-question -----------------------------------------------------------------------------------


def test_a_question_is_sent_and_its_response_polled(command: Command, agent: Agent, person: Person) -> None:
    done = command.run(
        "send-ask-question", agent.room, "my-agent", PAYLOAD, "--color", "#818cf8", ASK_BRIDGE_ROOM=""
    )
    (question,) = agent.open_questions()
    assert (done.returncode, done.stdout) == (0, f"Question sent: {question['id']}\n")
    assert question["agent"]["name"] == "my-agent"
    assert question["agent"]["color"] == "#818cf8"
    person.answer(question, "B")
    (response,) = lines(command.run("poll", agent.room, "--after", question["id"], "--wait").stdout)
    assert response["type"] == "AskUserQuestionResponse"
    content = json.loads(response["content"])
    assert content["questionMessageId"] == question["id"]
    assert content["selectedOptions"] == ["B"]


def test_a_poll_for_a_question_ends_when_it_was_withdrawn(command: Command, agent: Agent) -> None:
    question = agent.ask()
    assert command.run("withdraw", question["id"]).returncode == 0
    (response,) = lines(command.run("poll", "--after", question["id"], "--wait").stdout)
    content = json.loads(response["content"])
    assert (response["type"], content["questionMessageId"]) == ("AskUserQuestionResponse", question["id"])
    assert (content["status"], content["selectedOptions"]) == ("withdrawn", [])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Usage: ask-bridge send-ask-question <roomId> <sender> '<json>' [--color <color>]"),
        (["room", "me"], "Usage: ask-bridge send-ask-question <roomId> <sender> '<json>' [--color <color>]"),
        (["room", "me", "{"], "Error: payload must be valid JSON"),
        (["room", "me", "[]"], "Error: payload must have 'question' and 'options' fields"),
        (["room", "me", "null"], "Error: payload must have 'question' and 'options' fields"),
        (["room", "me", '{"question": "A?"}'], "Error: payload must have 'question' and 'options' fields"),
        (
            ["room", "me", '{"question": "", "options": []}'],
            "Error: payload must have 'question' and 'options' fields",
        ),
        (
            ["room", "me", '{"question": "A?", "options": "B"}'],
            "Error: payload must have 'question' and 'options' fields",
        ),
    ],
)
def test_a_payload_that_is_none_is_refused(command: Command, arguments: list[str], said: str) -> None:
    done = command.run("send-ask-question", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{said}\n")


def test_what_only_the_bridge_can_check_is_told_as_well(command: Command, agent: Agent) -> None:
    done = command.run("send-ask-question", agent.room, "me", '{"question": "A?", "options": ["B"]}')
    assert done.returncode == 2
    assert "needs 2 to 4 options" in done.stderr


# ---- memory ----------------------------------------------------------------------------------------------


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
