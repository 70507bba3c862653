"""`ask-bridge ask`: its output, and its exit code for scripts."""

import json
import signal
from collections.abc import Callable
from typing import Any

import pytest

from tests.client.conftest import Command, ends
from tests.client.loopback import Front, reply
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.people import Person
from tests.harness.timing import eventually

GO_ON = ("ask", "Go on?", "--option", "Yes", "--option", "No: wait for the morning")


def open_question(agent: Agent) -> Any:
    (question,) = eventually(agent.open_questions)
    return question


def test_the_answer_is_printed(command: Command, agent: Agent, person: Person) -> None:
    with command.start(*GO_ON, "--header", "Deploy", "--agent", "bot", "--color", "#818cf8") as process:
        question = open_question(agent)
        person.answer(question, "Yes")
        code, printed, errors = ends(process)
    assert (code, printed) == (0, "Yes\n")
    assert question["url"] in errors
    assert question["agent"]["name"] == "bot"
    assert question["agent"]["color"] == "#818cf8"
    (prompt,) = question["questions"]
    assert prompt["header"] == "Deploy"
    assert prompt["options"][1] == {"label": "No", "description": "wait for the morning", "preview": ""}
    assert question["context"]["cwd"] == str(command.folder)


def test_labels_are_printed_one_per_line_and_notes_to_stderr(
    command: Command, agent: Agent, person: Person
) -> None:
    with command.start(*GO_ON, "--multi", "--option", "Maybe") as process:
        person.submit(open_question(agent), ("choice-0", "0"), ("choice-0", "2"), ("notes-0", "Soon"))
        code, printed, errors = ends(process)
    assert (code, printed) == (0, "Yes\nMaybe\n")
    assert "note: Soon" in errors


def test_json_is_the_whole_question_object(command: Command, agent: Agent, person: Person) -> None:
    with command.start(*GO_ON, "--json") as process:
        person.answer(open_question(agent), "No")
        code, printed, _ = ends(process)
    assert code == 0
    told = json.loads(printed)
    assert told["status"] == "answered"
    assert told["answer"]["answers"][0]["selectedOptions"] == ["No"]


def test_several_questions_come_from_stdin(command: Command, agent: Agent, person: Person) -> None:
    body = {
        "questions": [
            {"question": "Which database?", "header": "Database", "options": ["PostgreSQL", "SQLite"]},
            {"question": "Deploy?", "options": ["Yes", "No"]},
        ],
        "context": {"text": "All tests pass"},
        "timeout_seconds": 60,
    }
    with command.start("ask", "-", stdin=body) as process:
        question = open_question(agent)
        person.submit(question, ("choice-0", "1"), ("choice-1", "0"))
        code, printed, _ = ends(process)
    assert (code, printed) == (0, "Database: SQLite\nDeploy?: Yes\n")
    assert question["context"]["text"] == "All tests pass"
    assert question["expires_at"]


def test_a_list_of_questions_is_accepted(command: Command, agent: Agent, person: Person) -> None:
    with command.start("ask", "-", stdin=[{"question": "Deploy?", "options": ["Yes", "No"]}]) as process:
        person.answer(open_question(agent), "No")
        assert ends(process)[:2] == (0, "No\n")


def test_declined_is_3(command: Command, agent: Agent, person: Person) -> None:
    with command.start(*GO_ON) as process:
        person.skip(open_question(agent), "Ask Ben")
        code, printed, errors = ends(process)
    assert (code, printed) == (3, "")
    assert 'Ana Costa chose not to answer: "Ask Ben"' in errors


def test_asked_back_is_3_with_the_text(command: Command, agent: Agent, person: Person) -> None:
    with command.start(*GO_ON) as process:
        person.ask_back(open_question(agent), "Where to?")
        code, printed, errors = ends(process)
    assert (code, printed) == (3, "")
    assert 'ask-bridge: Ana Costa asks back instead of choosing: "Where to?".' in errors


def test_asked_back_as_json_says_so(command: Command, agent: Agent, person: Person) -> None:
    with command.start(*GO_ON, "--json") as process:
        person.ask_back(open_question(agent), "Where to?")
        code, printed, _ = ends(process)
    answer = json.loads(printed)["answer"]
    assert (code, answer["kind"], answer["reason"]) == (3, "reply", "Where to?")


def test_expired_is_4(command: Command) -> None:
    done = command.run(*GO_ON, "--timeout", "0.3")
    assert (done.returncode, done.stdout) == (4, "")
    assert "nobody answered in time" in done.stderr


def test_a_default_that_was_used_is_0_and_says_so(command: Command) -> None:
    done = command.run(*GO_ON, "--timeout", "5", "--default", "No")
    assert (done.returncode, done.stdout) == (0, "No\n")
    assert "default" in done.stderr


def test_withdrawn_is_6(command: Command, agent: Agent) -> None:
    with command.start(*GO_ON) as process:
        question = open_question(agent)
        done = command.run("withdraw", question["id"])
        assert (done.returncode, done.stdout) == (0, f"Withdrawn: {question['id']}\n")
        assert ends(process)[0] == 6


def test_an_outage_while_it_waits_changes_nothing(
    front: Front, agent: Agent, make_command: Callable[..., Command], person: Person
) -> None:
    with make_command(front.url, agent).start(*GO_ON) as process:
        question = open_question(agent)
        eventually(lambda: front.calls("GET"))
        front.fail_for_a_while()
        person.answer(question, "Yes")
        code, printed, errors = ends(process)
    assert (code, printed) == (0, "Yes\n")
    assert errors.count("trying again") == 1


def test_a_bridge_that_fails_until_the_end_is_5_as_well(
    front: Front, agent: Agent, make_command: Callable[..., Command]
) -> None:
    front.always = reply(500)
    done = make_command(front.url, agent).run("wait", "q_1", "--timeout", "0.5")
    assert (done.returncode, done.stdout) == (5, "")
    assert "answered 500" in done.stderr


def test_unreachable_is_5(command: Command) -> None:
    done = command.run("wait", "q_1", "--timeout", "0.5", ASK_BRIDGE_URL="http://127.0.0.1:9")
    assert (done.returncode, done.stdout) == (5, "")
    assert "connection refused" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (["ask"], "", "needs a question"),
        (["ask", "Go on?"], "", "needs 2 to 4 options, got 0"),
        (["ask", "Go on?", "--option", "A", "--option", "A"], "", "same label"),
        (["ask", "-"], "{", "as JSON"),
        (["ask", "-"], "7", "JSON object"),
        (["ask", "Go on?", "--timeout", "soon"], "", "not a number of seconds"),
        (["ask", "Go on?", "--timeout", "-1"], "", "not between"),
        (["ask", "Go on?", "--what"], "", "unrecognized"),
        ([*GO_ON, "--default", "Perhaps"], "", "Perhaps"),
        ([*GO_ON, "--default", "No", "--votes", "2"], "", "default: cannot count here"),
        ([*GO_ON, "--color", "no colour"], "", "color"),
        ([*GO_ON, "--voter", "ana"], "", "--voter needs --votes"),
        ([*GO_ON, "--votes", "1"], "", "care.votes.needed"),
        ([*GO_ON, "--votes", "two"], "", "invalid int value"),
        ([*GO_ON, "--undo", "0"], "", "care.undo_seconds"),
        ([*GO_ON, "--first", "nobody-here"], "", "nobody-here"),
        ([*GO_ON, "--first-role", "owner"], "", "invalid choice"),
    ],
)
def test_wrong_usage_is_2_in_one_line(command: Command, arguments: list[str], stdin: str, words: str) -> None:
    done = command.run(*arguments, stdin=stdin)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_care_that_is_no_object_is_2_and_named(command: Command) -> None:
    done = command.run(*GO_ON, ASK_BRIDGE_CARE="2 votes")
    assert (done.returncode, done.stdout) == (2, "")
    assert "ASK_BRIDGE_CARE has to be a JSON object" in done.stderr


def test_missing_settings_are_2_and_named(command: Command) -> None:
    done = command.run(*GO_ON, ASK_BRIDGE_KEY="")
    assert done.returncode == 2
    assert "ASK_BRIDGE_KEY" in done.stderr


def test_a_refused_key_is_1_and_never_printed(command: Command) -> None:
    key = "abk_0000000000_" + "0" * 40
    done = command.run(*GO_ON, ASK_BRIDGE_KEY=key)
    assert done.returncode == 1
    assert "valid agent key" in done.stderr
    assert key not in done.stderr


def test_flags_come_before_the_environment(command: Command, agent: Agent, url: str) -> None:
    done = command.run(
        *GO_ON,
        *("--url", url, "--key", agent.key, "--room", agent.room, "--timeout", "0.3"),
        ASK_BRIDGE_URL="http://127.0.0.1:9",
        ASK_BRIDGE_KEY="abk_wrong",
        ASK_BRIDGE_ROOM="elsewhere",
    )
    assert done.returncode == 4


def test_one_key_asks_once(command: Command, agent: Agent, person: Person) -> None:
    with command.start(*GO_ON, "--idempotency-key", "deploy-7") as process:
        person.answer(open_question(agent), "Yes")
        ends(process)
    done = command.run(*GO_ON, "--idempotency-key", "deploy-7")
    assert (done.returncode, done.stdout) == (0, "Yes\n")


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stop_signal_ends_the_wait(
    front: Front, agent: Agent, make_command: Callable[..., Command], number: int, expected: int
) -> None:
    with make_command(front.url, agent).start(*GO_ON) as process:
        question = open_question(agent)
        eventually(lambda: agent.read(question["id"])["agent"]["active"])
        process.send_signal(number)
        assert ends(process)[0] == expected
    assert len(front.calls("DELETE", "/wait")) == 1
    assert agent.read(question["id"])["agent"]["active"] is False


# ---- careful questions -----------------------------------------------------------------------------------


@pytest.fixture
def ben(bridge: Bridge) -> Person:
    return bridge.person("ben")


def test_several_people_vote_and_all_are_named(
    command: Command, agent: Agent, person: Person, ben: Person
) -> None:
    flags = ("--votes", "2", "--voter", "ana", "--voter", "ben", "--voter", "cleo")
    with command.start(*GO_ON, *flags) as process:
        question = open_question(agent)
        assert question["care"]["votes"] == {"needed": 2, "of": ["ana", "ben", "cleo"], "cast": 0}
        person.answer(question, "No")
        assert agent.read(question["id"])["care"]["votes"]["cast"] == 1
        ben.answer(question, "No")
        code, printed, errors = ends(process)
    assert (code, printed) == (0, "No\n")
    assert errors.endswith("ask-bridge: decided by Ana Costa and Ben Okafor\n")


def test_votes_that_do_not_agree_are_no_answer(
    command: Command, agent: Agent, person: Person, ben: Person
) -> None:
    with command.start(*GO_ON, "--votes", "2", "--timeout", "6") as process:
        question = open_question(agent)
        person.answer(question, "Yes")
        ben.answer(question, "No")
        code, printed, errors = ends(process, seconds=20)
    assert (code, printed) == (4, "")
    assert "too few people agreed in time" in errors
    question = agent.ask(care={"votes": 2})
    person.answer(question, "SQLite")
    done = command.run("wait", question["id"], "--timeout", "0")
    assert (done.returncode, done.stdout) == (4, "")
    assert "too few people agree so far; wait again with" in done.stderr


def test_flags_set_the_care_of_the_question(command: Command, agent: Agent) -> None:
    flags = ("--first", "ana", "--first", "ben", "--first-role", "manager")
    with command.start(*GO_ON, *flags, "--undo", "10", "--escalate", "60"):
        assert open_question(agent)["care"] == {
            "first": {"people": ["ana", "ben"], "role": "manager"},
            "votes": None,
            "undo_seconds": 10,
            "escalate_seconds": 60,
            "escalated": False,
        }


@pytest.mark.parametrize(
    ("own", "undo_seconds"), [({}, 7), ({"care": {"undo_seconds": 9}}, 9), ({"care": {}}, None)]
)
def test_care_of_the_json_comes_before_the_setting(
    command: Command, agent: Agent, own: dict[str, Any], undo_seconds: int | None
) -> None:
    body = {"question": "Go on?", "options": ["Yes", "No"], **own}
    setting = '{"undo_seconds": 7}'
    with command.start("ask", "-", stdin=body, ASK_BRIDGE_CARE=setting):
        open_question(agent)
    sent = ("send-ask-question", agent.room, "bot", json.dumps(body))
    assert command.run(*sent, ASK_BRIDGE_CARE=setting).returncode == 0
    asked = agent.open_questions()
    assert [(each["care"] or {}).get("undo_seconds") for each in asked] == [undo_seconds, undo_seconds]


def test_flags_replace_all_other_care(command: Command, agent: Agent) -> None:
    body = {"question": "Go on?", "options": ["Yes", "No"], "care": {"first": "ana"}}
    with command.start("ask", "-", "--undo", "5", stdin=body, ASK_BRIDGE_CARE='{"votes": 2}'):
        care = open_question(agent)["care"]
    assert (care["first"], care["votes"], care["undo_seconds"]) == (None, None, 5)


def test_ask_waits_for_the_undo_window_of_a_late_choice(
    command: Command, agent: Agent, person: Person
) -> None:
    """The undo window ends after the question's deadline, and after the usual grace period."""
    with command.start(*GO_ON, "--timeout", "6", "--undo", "15") as process:
        person.answer(open_question(agent), "Yes")
        assert ends(process, seconds=40)[:2] == (0, "Yes\n")
