"""`ask-bridge hook`: real processes between a scripted Claude Code and a real room."""

import json
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.client.conftest import Command, ends
from tests.client.loopback import Front, Request, forward, reply, reset, send_bytes
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.people import Person
from tests.harness.timing import eventually

DATABASE = {
    "question": "Which database?",
    "header": "Database",
    "multiSelect": False,
    "options": [{"label": "PostgreSQL", "preview": "CREATE TABLE"}, {"label": "SQLite"}],
}
CHECKS = {
    "question": "Which checks?",
    "header": "Checks",
    "multiSelect": True,
    "options": [{"label": "Unit"}, {"label": "Browser"}, {"label": "Load"}],
}


def envelope(event: str = "PreToolUse", *questions: Any, **fields: Any) -> dict[str, Any]:
    sent = {
        "session_id": "session-1",
        "transcript_path": "/nowhere.jsonl",
        "cwd": "/",
        "prompt_id": "prompt-1",
        "permission_mode": "default",
        "hook_event_name": event,
        "tool_name": "AskUserQuestion",
        "tool_input": {"questions": list(questions) or [DATABASE]},
        **({} if event == "PermissionRequest" else {"tool_use_id": "toolu_1"}),
    }
    return {**sent, **fields}


def report_of(answers: dict[str, Any], *questions: Any, **fields: Any) -> dict[str, Any]:
    sent = envelope("PostToolUse", *questions, **fields)
    sent["tool_input"]["answers"] = answers
    return sent


def waiting_question(agent: Agent) -> Any:
    """The only question of the room, once the agent waits for it."""
    (question,) = eventually(agent.open_questions)
    eventually(lambda: agent.read(question["id"])["agent"]["active"])
    return question


def hook_output(printed: str) -> Any:
    return json.loads(printed)["hookSpecificOutput"]


# ---- PreToolUse ------------------------------------------------------------------------------------------


def test_a_click_in_the_room_is_the_answer(command: Command, agent: Agent, person: Person) -> None:
    with command.start("hook", stdin=envelope()) as process:
        person.answer(waiting_question(agent), "SQLite")
        code, printed, errors = ends(process)
    assert (code, errors) == (0, "")
    assert hook_output(printed) == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {"questions": [DATABASE], "answers": {"Which database?": "SQLite"}},
    }


def test_several_questions_with_ticks_a_text_a_note_and_a_preview(
    command: Command, agent: Agent, person: Person
) -> None:
    with command.start("hook", stdin=envelope("PreToolUse", DATABASE, CHECKS)) as process:
        person.submit(
            waiting_question(agent),
            ("choice-0", "0"),
            ("notes-0", "Version 17"),
            ("choice-1", "0"),
            ("choice-1", "2"),
            ("choice-1", "other"),
            ("other-1", "and by hand"),
        )
        _, printed, _ = ends(process)
    output = hook_output(printed)
    assert output["updatedInput"]["answers"] == {
        "Which database?": "PostgreSQL",
        "Which checks?": "Unit, Load, and by hand",
    }
    assert output["updatedInput"]["annotations"] == {
        "Which database?": {"preview": "CREATE TABLE", "notes": '"Version 17"'}
    }
    assert "Version 17" in output["additionalContext"]


def test_a_skip_is_a_deny_with_name_and_reason(command: Command, agent: Agent, person: Person) -> None:
    with command.start("hook", stdin=envelope()) as process:
        person.skip(waiting_question(agent), "Ask Ben")
        code, printed, _ = ends(process)
    assert code == 0
    assert hook_output(printed) == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": 'Ana Costa chose not to answer: "Ask Ben"',
    }


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
def test_a_reply_is_a_deny_that_asks_back(command: Command, agent: Agent, person: Person, event: str) -> None:
    with command.start("hook", stdin=envelope(event)) as process:
        person.ask_back(waiting_question(agent), "How large?")
        code, printed, _ = ends(process)
    assert code == 0
    sentence = (
        'Ana Costa asks back instead of choosing: "How large?". Answer that in your next message, '
        "and ask the question again if it is still open."
    )
    expected = {
        "PreToolUse": {"permissionDecision": "deny", "permissionDecisionReason": sentence},
        "PermissionRequest": {"decision": {"behavior": "deny", "message": sentence}},
    }
    assert hook_output(printed) == {"hookEventName": event, **expected[event]}


def test_without_an_answer_the_dialog_takes_over(command: Command, agent: Agent) -> None:
    done = command.run("hook", "--timeout", "0.5", stdin=envelope())
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "ask-bridge: Nobody answered within 0.5 seconds\n"
    (question,) = agent.open_questions()
    assert question["agent"]["active"] is False


@pytest.mark.parametrize("seconds", ["0.5", "0"])
def test_headless_the_model_is_told_instead_and_the_question_is_over(
    command: Command, agent: Agent, seconds: str
) -> None:
    for _ in range(2):  # the same tool use gets the same result, and is not asked again
        done = command.run("hook", "--timeout", seconds, "--headless", stdin=envelope())
        output = hook_output(done.stdout)
        assert done.returncode == 0
        assert output["permissionDecision"] == "deny"
        assert f"Nobody answered within {seconds} seconds" in output["permissionDecisionReason"]
        assert "Do not ask it again" in output["permissionDecisionReason"]
        assert agent.open_questions() == []
        assert len(agent.questions("expired")) == 1


def test_headless_an_expired_request_without_an_id_is_asked_again(command: Command, agent: Agent) -> None:
    for count in (1, 2):
        done = command.run("hook", "--timeout", "0.1", "--headless", stdin=envelope("PermissionRequest"))
        assert "Nobody answered within 0.1 seconds" in hook_output(done.stdout)["decision"]["message"]
        expired = agent.questions("expired")
        assert len(expired) == count
        # Only then the bridge knows that the agent has the result.
        eventually(lambda asked=expired[-1]: agent.read(asked["id"])["delivered_at"])


def test_headless_the_question_of_a_killed_agent_ends_by_itself(command: Command, agent: Agent) -> None:
    """The ask contains the deadline: the agent need not send anything more."""
    with command.start("hook", "--timeout", "1", "--headless", stdin=envelope()) as process:
        waiting_question(agent)
        process.kill()
        process.wait()
    eventually(lambda: agent.questions("expired"))


def test_a_bridge_that_is_down_opens_the_dialog_within_its_patience(command: Command) -> None:
    started = time.monotonic()
    done = command.run("hook", stdin=envelope(), ASK_BRIDGE_URL="http://127.0.0.1:9")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.count("\n") == 1
    assert "connection refused" in done.stderr
    assert time.monotonic() - started < 15


def test_headless_the_model_is_told_that_the_bridge_is_down(command: Command) -> None:
    down = {"ASK_BRIDGE_URL": "http://127.0.0.1:9"}
    done = command.run("hook", "--headless", "--timeout", "1", stdin=envelope(), **down)
    assert done.returncode == 0
    assert "connection refused" in hook_output(done.stdout)["permissionDecisionReason"]


def test_the_same_tool_use_is_asked_once(command: Command, agent: Agent, person: Person) -> None:
    command.run("hook", "--timeout", "0.1", stdin=envelope())
    command.run("hook", "--timeout", "0.1", stdin=envelope())
    (question,) = agent.open_questions()
    person.answer(question, "SQLite")
    done = command.run("hook", stdin=envelope())
    assert hook_output(done.stdout)["updatedInput"]["answers"] == {"Which database?": "SQLite"}
    eventually(lambda: agent.read(question["id"])["delivered_at"])


def test_parallel_calls_are_separate_questions(command: Command, agent: Agent, person: Person) -> None:
    first = envelope("PreToolUse", DATABASE, tool_use_id="toolu_1")
    second = envelope("PreToolUse", CHECKS, tool_use_id="toolu_2")
    with command.start("hook", stdin=first) as one, command.start("hook", stdin=second) as two:
        eventually(lambda: len(agent.open_questions()) == 2)
        for question in agent.open_questions():
            if question["tool_use_id"] == "toolu_1":
                person.answer(question, "SQLite")
            else:
                person.submit(question, ("choice-0", "1"))
        assert hook_output(ends(one)[1])["updatedInput"]["answers"] == {"Which database?": "SQLite"}
        assert hook_output(ends(two)[1])["updatedInput"]["answers"] == {"Which checks?": "Browser"}


def test_the_person_learns_what_the_agent_does(command: Command, agent: Agent, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/feature/cards\n")
    transcript = tmp_path / "transcript.jsonl"
    entry = {"type": "assistant", "message": {"content": [{"type": "text", "text": "All tests pass."}]}}
    transcript.write_text(json.dumps(entry) + "\n")
    sent = envelope(cwd=str(tmp_path), transcript_path=str(transcript))
    command.run("hook", "--timeout", "0.1", "--agent", "Laptop of Ana", stdin=sent)
    (question,) = agent.open_questions()
    assert question["context"] == {
        "cwd": str(tmp_path),
        "branch": "feature/cards",
        "text": "All tests pass.",
    }
    assert question["agent"]["name"] == "Laptop of Ana"


@pytest.mark.parametrize(("flags", "end"), [([], signal.SIGKILL), (["--headless"], signal.SIGTERM)])
def test_a_restart_while_it_waits_changes_nothing(
    own_bridge: Bridge, make_command: Callable[..., Command], flags: list[str], end: int
) -> None:
    agent = own_bridge.agent()
    command = make_command(f"http://127.0.0.1:{own_bridge.site.port}", agent)
    with command.start("hook", "--timeout", "120", *flags, stdin=envelope()) as process:
        question = waiting_question(agent)
        own_bridge.site.stop(end)
        agent.site = own_bridge.start_again()
        own_bridge.new_person("ana").answer(question, "SQLite")
        code, printed, _ = ends(process, seconds=30)
    assert code == 0
    assert hook_output(printed)["updatedInput"]["answers"] == {"Which database?": "SQLite"}


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
@pytest.mark.parametrize("flags", [[], ["--headless"]], ids=["at a terminal", "headless"])
def test_an_outage_while_it_waits_changes_nothing(
    front: Front,
    agent: Agent,
    make_command: Callable[..., Command],
    person: Person,
    event: str,
    flags: list[str],
) -> None:
    with make_command(front.url, agent).start("hook", *flags, stdin=envelope(event)) as process:
        question = waiting_question(agent)
        front.fail_for_a_while()
        person.answer(question, "SQLite")
        code, printed, errors = ends(process)
    assert (code, errors) == (0, "")
    output = hook_output(printed)
    assert output.get("decision", output)["updatedInput"]["answers"] == {"Which database?": "SQLite"}


@pytest.mark.parametrize("flags", [[], ["--headless"]], ids=["at a terminal", "headless"])
def test_an_outage_until_the_end_is_not_reported_as_no_answer(
    front: Front, agent: Agent, make_command: Callable[..., Command], flags: list[str]
) -> None:
    stopping = b'{"code": "shutting_down", "detail": "The bridge is restarting; ask again in a moment."}'
    head = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n\r\n"
    command = make_command(front.url, agent)
    with command.start("hook", "--timeout", "3", *flags, stdin=envelope()) as process:
        waiting_question(agent)
        front.always = send_bytes(head, stopping)
        front.break_all()
        code, printed, errors = ends(process, seconds=30)
    assert code == 0
    reason = "No answer could be fetched from the bridge. Its last reply was the error shutting_down"
    assert errors == f"ask-bridge: {reason}\n"
    if flags:
        told = hook_output(printed)["permissionDecisionReason"]
        assert told.startswith(f"{reason}. Do not ask it again")
    else:
        assert printed == ""


@pytest.mark.parametrize("flags", [[], ["--headless"]], ids=["at a terminal", "headless"])
def test_an_error_of_the_bridge_on_the_ask_is_retried(
    front: Front, agent: Agent, make_command: Callable[..., Command], person: Person, flags: list[str]
) -> None:
    front.next.extend([reply(500), reset])
    with make_command(front.url, agent).start("hook", *flags, stdin=envelope()) as process:
        person.answer(waiting_question(agent), "SQLite")
        code, printed, _ = ends(process)
    assert code == 0
    assert hook_output(printed)["updatedInput"]["answers"] == {"Which database?": "SQLite"}


# ---- other envelopes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent",
    [
        envelope(tool_name="Bash"),
        envelope("SessionStart"),
        {"hook_event_name": "Stop"},
        envelope("PostToolUse"),  # nothing was answered
    ],
)
def test_everything_else_is_ignored_silently(command: Command, agent: Agent, sent: Any) -> None:
    done = command.run("hook", stdin=sent)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert agent.open_questions() == []


def test_other_tools_are_ignored_even_without_any_settings(command: Command) -> None:
    command.environment = {name: command.environment[name] for name in ("PATH", "HOME", "PYTHONPATH")}
    done = command.run("hook", stdin=envelope(tool_name="Bash"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# As GitHub Copilot CLI sends it, which runs the hooks of .claude/settings.json and denies its own tool when
# one of them fails.
FORM = {
    "message": "Which database?",
    "requestedSchema": {
        "type": "object",
        "properties": {"database": {"type": "string", "enum": ["PostgreSQL", "SQLite"]}},
        "required": ["database"],
    },
}
NOT_UNDERSTOOD: dict[str, Any] = {
    "nothing": "",
    "no JSON": "not json",
    "no object": "[]",
    "an empty object": {},
    "no event": envelope(hook_event_name=None),
    "no tool": envelope(tool_name=None),
    "a form": envelope(tool_input=FORM),
    "a form beside a dialog": envelope("PermissionRequest", tool_input=FORM),
    "a form of the other tool": envelope(tool_name="AskFollowupQuestion", tool_input=FORM),
    "no input": envelope(tool_input=None),
    "a text as input": envelope(tool_input="Which database?"),
    "no questions": envelope(tool_input={"questions": []}),
    "one option": envelope("PreToolUse", {"question": "Go on?", "options": [{"label": "Yes"}]}),
    "questions of another shape": envelope("PreToolUse", {"prompt": "Go on?"}),
}


@pytest.mark.parametrize("stdin", NOT_UNDERSTOOD.values(), ids=NOT_UNDERSTOOD.keys())
def test_an_envelope_that_is_not_understood_breaks_no_agent(
    command: Command, agent: Agent, stdin: Any
) -> None:
    done = command.run("hook", stdin=stdin)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("ask-bridge: ")
    assert done.stderr.count("\n") == 1
    assert agent.open_questions() == []


@pytest.mark.parametrize("flags", [(), ("--headless",)])
def test_headless_a_form_is_left_to_its_agent_as_well(command: Command, flags: tuple[str, ...]) -> None:
    done = command.run("hook", *flags, stdin=envelope(tool_input=FORM))
    assert (done.returncode, done.stdout) == (0, "")
    assert "holds no questions" in done.stderr


def test_headless_the_model_is_told_why_its_question_was_refused(command: Command) -> None:
    asked = envelope("PreToolUse", {"question": "Go on?", "options": [{"label": "Yes"}]})
    done = command.run("hook", "--headless", stdin=asked)
    assert done.returncode == 0
    assert "needs 2 to 4 options, got 1" in hook_output(done.stdout)["permissionDecisionReason"]


def test_a_report_that_cannot_be_stored_breaks_nothing(command: Command, agent: Agent) -> None:
    asked_before(command, "PermissionRequest")
    done = command.run("hook", stdin=report_of({"Which database?": "half a character: \ud800"}))
    assert (done.returncode, done.stdout) == (0, "")
    assert len(agent.open_questions()) == 1


# ---- AskFollowupQuestion ---------------------------------------------------------------------------------

FOLLOW_UP = {"question": "Which colour?", "follow_up": ["Red", {"text": "Blue, dark", "mode": "code"}]}


def test_a_follow_up_question_is_asked_and_answered(command: Command, agent: Agent, person: Person) -> None:
    """Its input is returned with `answers`, and the context repeats them for tools that do not know these."""
    asked = envelope(tool_name="AskFollowupQuestion", tool_input=FOLLOW_UP)
    with command.start("hook", stdin=asked) as process:
        question = waiting_question(agent)
        assert question["questions"][0]["question"] == "Which colour?"
        person.answer(question, "Blue, dark")
        code, printed, errors = ends(process)
    assert (code, errors) == (0, "")
    assert hook_output(printed) == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {**FOLLOW_UP, "answers": {"Which colour?": "Blue, dark"}},
        "additionalContext": 'Ana Costa answered: "Which colour?" = Blue, dark',
    }


def test_two_follow_up_questions_beside_a_dialog_are_two_cards(command: Command, agent: Agent) -> None:
    for text in ("Which colour?", "Which size?"):
        asked = {**FOLLOW_UP, "question": text}
        sent = envelope("PermissionRequest", tool_name="AskFollowupQuestion", tool_input=asked)
        for _ in range(2):
            command.run("hook", "--timeout", "0.1", stdin=sent)
    assert len(agent.open_questions()) == 2


def test_a_follow_up_question_that_the_terminal_answered_closes_its_card(
    command: Command, agent: Agent
) -> None:
    tool: dict[str, Any] = {"tool_name": "AskFollowupQuestion", "tool_input": FOLLOW_UP}
    command.run("hook", "--timeout", "0.1", stdin=envelope("PermissionRequest", **tool))
    (question,) = agent.open_questions()
    tool["tool_input"] = {**FOLLOW_UP, "answers": {"Which colour?": "Red"}}
    done = command.run("hook", stdin=envelope("PostToolUse", **tool))
    assert (done.returncode, done.stderr) == (0, "")
    assert agent.read(question["id"])["answer"]["answers"][0]["selectedOptions"] == ["Red"]


def test_a_model_sets_nothing_but_its_question(command: Command, agent: Agent) -> None:
    more = {"agent": {"name": "boss"}, "timeout_seconds": 0.001, "default": {"Which colour?": "Red"}}
    sent = envelope(tool_name="AskFollowupQuestion", tool_input={**FOLLOW_UP, **more})
    command.run("hook", "--timeout", "0.1", stdin=sent)
    (question,) = agent.open_questions()
    assert (question["agent"]["name"], question["expires_at"]) == ("Claude Code", None)


@pytest.mark.parametrize("variable", [{"ASK_BRIDGE_KEY": "abk_wrong"}, {"ASK_BRIDGE_ROOM": "elsewhere"}])
def test_a_wrong_setup_is_shown_and_blocks_nothing(command: Command, variable: dict[str, str]) -> None:
    done = command.run("hook", stdin=envelope(), **variable)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert command.environment["ASK_BRIDGE_KEY"] not in done.stderr


# ---- PermissionRequest -----------------------------------------------------------------------------------


def test_beside_the_dialog_the_room_can_answer(command: Command, agent: Agent, person: Person) -> None:
    with command.start("hook", stdin=envelope("PermissionRequest")) as process:
        person.answer(waiting_question(agent), "SQLite")
        _, printed, _ = ends(process)
    assert hook_output(printed) == {
        "hookEventName": "PermissionRequest",
        "decision": {
            "behavior": "allow",
            "updatedInput": {"questions": [DATABASE], "answers": {"Which database?": "SQLite"}},
        },
    }


def test_beside_the_dialog_the_room_can_decline(command: Command, agent: Agent, person: Person) -> None:
    with command.start("hook", stdin=envelope("PermissionRequest")) as process:
        person.skip(waiting_question(agent))
        _, printed, _ = ends(process)
    decision = hook_output(printed)["decision"]
    assert decision == {"behavior": "deny", "message": "Ana Costa chose not to answer."}


def test_the_same_request_is_the_same_question_and_another_is_not(command: Command, agent: Agent) -> None:
    for sent in (
        envelope("PermissionRequest"),
        envelope("PermissionRequest"),
        envelope("PermissionRequest", prompt_id="prompt-2"),
        envelope("PermissionRequest", CHECKS),
    ):
        command.run("hook", "--timeout", "0.1", stdin=sent)
    assert len(agent.open_questions()) == 3


def test_a_repeated_request_is_asked_again_after_its_answer(
    command: Command, agent: Agent, person: Person
) -> None:
    """An agent may ask "go on?" again and again within one prompt."""
    for _ in range(3):
        with command.start("hook", stdin=envelope("PermissionRequest")) as process:
            question = waiting_question(agent)
            person.answer(question, "SQLite")
            ends(process)
        eventually(lambda asked=question: agent.read(asked["id"])["delivered_at"])
    asked_before(command, "PermissionRequest")
    (question,) = agent.open_questions()
    command.run("hook", stdin=report_of({"Which database?": "SQLite"}))
    assert agent.read(question["id"])["answer"]["via"] == "terminal"
    asked_before(command, "PermissionRequest")
    assert len(agent.open_questions()) == 1


def test_key_that_only_asks_withdraws_what_was_answered_in_the_terminal(
    bridge: Bridge, make_command: Callable[..., Command], url: str, agent: Agent
) -> None:
    command = make_command(url, bridge.agent_with(agent, "ask"))
    asked_before(command, "PermissionRequest")
    (question,) = agent.open_questions()
    done = command.run("hook", stdin=report_of({"Which database?": "SQLite"}))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    settled = agent.read(question["id"])
    assert (settled["status"], settled["answer"]) == ("withdrawn", None)


def test_an_undelivered_answer_is_kept_for_the_next_hook(
    command: Command, agent: Agent, person: Person
) -> None:
    asked_before(command, "PermissionRequest")
    (question,) = agent.open_questions()
    person.answer(question, "SQLite")
    done = command.run("hook", stdin=envelope("PermissionRequest"))
    assert hook_output(done.stdout)["decision"]["updatedInput"]["answers"] == {"Which database?": "SQLite"}


# ---- signals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stopped_hook_ends_its_wait(
    front: Front, agent: Agent, make_command: Callable[..., Command], event: str, number: int
) -> None:
    command = make_command(front.url, agent)
    with command.start("hook", stdin=envelope(event)) as process:
        question = waiting_question(agent)
        started = time.monotonic()
        process.send_signal(number)
        code, printed, errors = ends(process)
    assert time.monotonic() - started < 2
    assert (code, printed, errors) == (0, "", "")
    assert len(front.calls("DELETE", f"{question['id']}/wait")) == 1
    card = agent.read(question["id"])
    assert (card["status"], card["agent"]["active"]) == ("open", False)


def test_a_stopped_hook_waits_two_seconds_at_most_for_a_silent_bridge(
    front: Front, agent: Agent, make_command: Callable[..., Command]
) -> None:
    command = make_command(front.url, agent)
    with command.start("hook", stdin=envelope()) as process:
        waiting_question(agent)
        front.always = lambda front, client, request: client.recv(1)  # never a reply
        started = time.monotonic()
        process.send_signal(signal.SIGTERM)
        code, printed, _ = ends(process)
    assert time.monotonic() - started < 3
    assert (code, printed) == (0, "")


# ---- PostToolUse -----------------------------------------------------------------------------------------


def asked_before(command: Command, event: str, *questions: Any) -> None:
    command.run("hook", "--timeout", "0.1", stdin=envelope(event, *questions))


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
def test_an_answer_in_the_terminal_closes_the_card(command: Command, agent: Agent, event: str) -> None:
    asked_before(command, event)
    (question,) = agent.open_questions()
    done = command.run("hook", stdin=report_of({"Which database?": "SQLite"}))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    settled = agent.read(question["id"])
    assert settled["status"] == "answered"
    assert settled["answer"]["via"] == "terminal"
    assert settled["answer"]["answers"][0]["selectedOptions"] == ["SQLite"]


def test_the_answer_may_be_in_the_response_only(command: Command, agent: Agent) -> None:
    asked_before(command, "PermissionRequest")
    (question,) = agent.open_questions()
    response = {
        "questions": [DATABASE],
        "answers": {"Which database?": "DuckDB"},
        "annotations": {"Which database?": {"notes": "It is small"}},
    }
    command.run("hook", stdin=envelope("PostToolUse", tool_response=response))
    (choice,) = agent.read(question["id"])["answer"]["answers"]
    assert (choice["customInput"], choice["notes"]) == ("DuckDB", "It is small")


def test_joined_labels_and_an_unanswered_question_are_reported(command: Command, agent: Agent) -> None:
    asked_before(command, "PermissionRequest", DATABASE, CHECKS)
    (question,) = agent.open_questions()
    done = command.run("hook", stdin=report_of({"Which checks?": "Unit, Load"}, DATABASE, CHECKS))
    assert done.stderr == ""
    first, second = agent.read(question["id"])["answer"]["answers"]
    assert first["customInput"] == "(not answered in the terminal)"
    assert second["selectedOptions"] == ["Unit", "Load"]


def test_a_question_that_only_looks_the_same_stays_open(command: Command, agent: Agent) -> None:
    """The text is not enough: two calls may ask the same, and only one of them was answered."""
    asked_before(command, "PermissionRequest")
    (question,) = agent.open_questions()
    sent = report_of({"Which database?": "SQLite"}, prompt_id="unknown", tool_use_id="toolu_9")
    command.run("hook", stdin=sent)
    assert agent.read(question["id"])["status"] == "open"


def test_the_same_question_of_another_session_stays_open(command: Command, agent: Agent) -> None:
    asked_before(command, "PermissionRequest")
    command.run("hook", stdin=report_of({"Which database?": "SQLite"}, session_id="session-2"))
    assert len(agent.open_questions()) == 1


def test_a_card_that_the_room_closed_first_is_left_alone(
    command: Command, agent: Agent, person: Person
) -> None:
    asked_before(command, "PermissionRequest")
    (question,) = agent.open_questions()
    person.answer(question, "PostgreSQL")
    done = command.run("hook", stdin=report_of({"Which database?": "SQLite"}))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert agent.read(question["id"])["answer"]["via"] == "web"


def test_a_race_that_the_room_wins_is_silent(
    front: Front, agent: Agent, make_command: Callable[..., Command], person: Person
) -> None:
    command = make_command(front.url, agent)
    asked_before(command, "PermissionRequest")
    (question,) = agent.open_questions()
    report = front.forwarded

    def answer_first(request: Any) -> Any:
        if request.method == "POST" and request.target.endswith("/answer"):
            person.answer(question, "PostgreSQL")
        return report(request)

    front.forwarded = answer_first  # type: ignore[method-assign]
    done = command.run("hook", stdin=report_of({"Which database?": "SQLite"}))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert agent.read(question["id"])["answer"]["via"] == "web"


CARE = {"first": '{"first": "ana"}', "votes": '{"votes": 2}'}


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
@pytest.mark.parametrize("care", CARE.values(), ids=CARE)
def test_the_terminal_cannot_answer_for_particular_people(
    command: Command, agent: Agent, person: Person, event: str, care: str
) -> None:
    command.environment["ASK_BRIDGE_CARE"] = care
    asked_before(command, event)
    (question,) = agent.open_questions()
    done = command.run("hook", stdin=report_of({"Which database?": "SQLite"}))
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told["decision"] == "block"
    assert "ask the same question again" in told["reason"]
    assert agent.read(question["id"])["status"] == "withdrawn"
    # Claude asks again, with a new tool use and so a new card.
    command.run("hook", "--timeout", "0.1", stdin=envelope(event, tool_use_id="toolu_2"))
    (again,) = agent.open_questions()
    assert again["id"] != question["id"]


def test_the_terminal_may_answer_what_could_be_undone_in_the_room(command: Command, agent: Agent) -> None:
    command.environment["ASK_BRIDGE_CARE"] = '{"undo_seconds": 60}'
    asked_before(command, "PermissionRequest")
    (question,) = agent.open_questions()
    done = command.run("hook", stdin=report_of({"Which database?": "SQLite"}))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert agent.read(question["id"])["answer"]["via"] == "terminal"


def test_claude_is_told_even_if_the_card_cannot_be_withdrawn(
    front: Front, agent: Agent, make_command: Callable[..., Command]
) -> None:
    command = make_command(front.url, agent)
    command.environment["ASK_BRIDGE_CARE"] = CARE["votes"]
    asked_before(command, "PermissionRequest")

    def lose_withdrawals(front: Front, client: socket.socket, request: Request) -> None:
        (reply(502) if request.method == "DELETE" else forward)(front, client, request)

    front.always = lose_withdrawals
    done = command.run("hook", stdin=report_of({"Which database?": "SQLite"}))
    assert json.loads(done.stdout)["decision"] == "block"


def test_too_few_votes_are_no_answer_and_the_model_is_told_so(
    command: Command, agent: Agent, person: Person
) -> None:
    command.environment["ASK_BRIDGE_CARE"] = CARE["votes"]
    with command.start("hook", "--timeout", "6", "--headless", stdin=envelope()) as process:
        person.answer(waiting_question(agent), "SQLite")
        _, printed, _ = ends(process)
    assert hook_output(printed)["permissionDecisionReason"].startswith(
        "Too few people agreed within 6 seconds"
    )


def test_notes_of_several_people_have_their_names(
    command: Command, agent: Agent, person: Person, bridge: Bridge
) -> None:
    command.environment["ASK_BRIDGE_CARE"] = CARE["votes"]
    with command.start("hook", stdin=envelope()) as process:
        question = waiting_question(agent)
        person.submit(question, ("choice-0", "1"), ("notes-0", "It is small"))
        bridge.person("ben").submit(question, ("choice-0", "1"), ("notes-0", "For now"))
        _, printed, _ = ends(process)
    assert hook_output(printed)["additionalContext"] == (
        r'Note on "Which database?": "Ana Costa: It is small\nBen Okafor: For now"'
    )


def test_a_report_to_a_bridge_that_is_down_blocks_nothing(
    front: Front, agent: Agent, make_command: Callable[..., Command]
) -> None:
    front.always = reply(502)
    started = time.monotonic()
    done = make_command(front.url, agent).run("hook", stdin=report_of({"Which database?": "SQLite"}))
    assert (done.returncode, done.stdout) == (0, "")
    assert time.monotonic() - started < 8
