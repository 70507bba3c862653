"""`ask-bridge claude`: a stream-json child, its caller, and the people in the room."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.client.conftest import Command
from tests.client.loopback import Front
from tests.harness.agents import Agent
from tests.harness.people import Person
from tests.harness.timing import PATIENCE_SECONDS, eventually

FAKE = Path(__file__).with_name("fake_claude.py")

Json = dict[str, Any]


def ask(text: str = "Which database?", **fields: Any) -> Json:
    options = [
        {"label": "PostgreSQL", "description": "Grows with you"},
        {"label": "SQLite", "description": "One file"},
    ]
    prompt = {"question": text, "header": "Database", "options": options, **fields}
    return {"tool": "AskUserQuestion", "input": {"questions": [prompt]}}


BASH = {"tool": "Bash", "input": {"command": "ls"}}


class Run:
    """A running `ask-bridge claude`, with all its input and output."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path) -> None:
        self.process = process
        self.messages: list[Json] = []
        self._log = log
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        self.messages.extend(json.loads(line) for line in self.process.stdout)

    def send(self, line: "Json | str") -> None:
        assert self.process.stdin
        self.process.stdin.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
        self.process.stdin.flush()

    def say(self, text: str) -> None:
        self.send({"type": "user", "message": {"role": "user", "content": text}})

    def close_stdin(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def ends(self) -> int:
        """The exit code, after all output is read."""
        code = self.process.wait(PATIENCE_SECONDS)
        self._reader.join(PATIENCE_SECONDS)
        return code

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()

    def kinds(self) -> list[str]:
        return [message["type"] for message in self.messages]

    @property
    def results(self) -> list[Any]:
        """The results of the child's tools, as it reports them."""
        contents = (message["message"]["content"] for message in self.messages if message["type"] == "user")
        return [block["got"] for content in contents for block in content]

    @property
    def arguments(self) -> list[str]:
        """The arguments of the child."""
        return list(
            json.loads(eventually(lambda: self._log.exists() and self._log.read_text()).splitlines()[0])
        )

    @property
    def received(self) -> list[Json]:
        """The input of the child."""
        return [json.loads(line) for line in self._log.read_text().splitlines()[1:]]


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """The program that is started in place of Claude Code."""
    program = tmp_path / "claude"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} "$@"\n')
    program.chmod(0o755)
    return program


Start = Callable[..., Any]


@pytest.fixture
def start(command: Command, claude: Path) -> Start:
    """`start(call, …, flags=[…], arguments=[…])`: the child's tool calls, and both command lines."""

    @contextmanager
    def start(
        *calls: Json,
        flags: tuple[str, ...] = (),
        arguments: tuple[str, ...] = (),
        **environment: str,
    ) -> Iterator[Run]:
        log = command.folder / "log"
        process = subprocess.Popen(
            [command.python, "-m", "bridge_client", "claude", "--claude", claude, *flags, "--", *arguments],
            cwd=command.folder,
            env={**command.environment, "FAKE_CALLS": json.dumps(calls), "FAKE_LOG": str(log), **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        run = Run(process, log)
        try:
            yield run
        finally:
            run.end()

    return start


def asked(agent: Agent) -> Any:
    """The only question in the room, once the agent waits for it."""
    return eventually(
        lambda: next((each for each in agent.open_questions() if each["agent"]["active"]), None)
    )


def allowed(call: Json, **answers: str) -> Json:
    questions = call["input"]["questions"]
    return {"behavior": "allow", "updatedInput": {"questions": questions, "answers": answers}}


# ---- questions -------------------------------------------------------------------------------------------


def test_a_click_answers_the_request_of_the_child(start: Start, agent: Agent, person: Person) -> None:
    with start(ask("Database?")) as run:
        run.say("Go ahead.")
        question = asked(agent)
        assert question["agent"]["name"] == "Claude Code"
        assert (question["session_id"], question["tool_use_id"]) == ("fake-session", "toolu_1")
        assert question["context"]["text"] == "Let me ask."
        person.answer(question, "SQLite")
        run.close_stdin()
        assert run.ends() == 0
        assert run.results == [allowed(ask("Database?"), **{"Database?": "SQLite"})]
        # Requests that the room answers are not forwarded to the caller.
        assert run.kinds() == ["system", "assistant", "user", "result"]
        assert run.process.stderr.read() == "a warning of claude\n"


def test_several_labels_become_one_text_and_notes_are_included(
    start: Start, agent: Agent, person: Person
) -> None:
    call = ask("Database?", multiSelect=True)
    with start(call, arguments=("-p", "Go ahead.")) as run:
        question = asked(agent)
        fields = person.form_of(question)["fields"]
        person.submit(question, fields["PostgreSQL"], fields["SQLite"], ("notes-0", "Both"))
        assert run.ends() == 0
        updated = run.results[0]["updatedInput"]
        assert updated["answers"] == {"Database?": "PostgreSQL, SQLite"}
        assert updated["annotations"] == {"Database?": {"notes": '"Both"'}}


FOLLOW_UP = {
    "tool": "AskFollowupQuestion",
    "input": {"question": "Which colour?", "follow_up": ["Red", "Blue, dark"], "multiSelect": True},
}


def test_a_follow_up_question_is_answered_as_well(start: Start, agent: Agent, person: Person) -> None:
    with start(FOLLOW_UP, arguments=("-p", "Go ahead.")) as run:
        person.submit(asked(agent), ("choice-0", "0"), ("choice-0", "1"))
        assert run.ends() == 0
        updated = {**FOLLOW_UP["input"], "answers": {"Which colour?": 'Red, "Blue, dark"'}}
        assert run.results == [{"behavior": "allow", "updatedInput": updated}]


def test_an_old_client_gets_the_answer_to_a_follow_up_question_as_a_tool_result(
    start: Start, agent: Agent, person: Person
) -> None:
    flags = ("--legacy-tool-result",)
    with start(FOLLOW_UP, flags=flags, arguments=("-p", "Go ahead."), FAKE_OLD="1") as run:
        person.submit(asked(agent), ("choice-0", "0"), ("choice-0", "1"))
        assert run.ends() == 0
        (block,) = run.results
        assert (block["content"], block["is_error"]) == ('Red, "Blue, dark"', False)


def test_several_requests_at_once_each_get_their_own_answer(
    start: Start, agent: Agent, person: Person
) -> None:
    calls = [ask("First?"), ask("Second?"), ask("Third?")]
    with start(*calls, arguments=("-p", "Go ahead.")) as run:
        questions = eventually(lambda: len(found := agent.open_questions()) == 3 and found)
        labels = {"First?": "SQLite", "Second?": "PostgreSQL", "Third?": "SQLite"}
        for question in reversed(questions):
            person.answer(question, labels[question["questions"][0]["question"]])
        assert run.ends() == 0
        given = {}
        for result in run.results:
            given |= result["updatedInput"]["answers"]
        assert given == labels


def test_a_skip_is_denied_with_who_and_why(start: Start, agent: Agent, person: Person) -> None:
    with start(ask(), arguments=("-p", "Go ahead.")) as run:
        person.skip(asked(agent), "Ask me tomorrow")
        assert run.ends() == 0
        message = 'Ana Costa chose not to answer: "Ask me tomorrow"'
        assert run.results == [{"behavior": "deny", "message": message}]


def test_a_reply_is_denied_with_what_they_ask(start: Start, agent: Agent, person: Person) -> None:
    with start(ask(), arguments=("-p", "Go ahead.")) as run:
        person.ask_back(asked(agent), "How large?")
        assert run.ends() == 0
        (result,) = run.results
        assert result["behavior"] == "deny"
        assert result["message"].startswith('Ana Costa asks back instead of choosing: "How large?".')


def test_after_the_timeout_the_model_is_told_and_the_question_is_over(start: Start, agent: Agent) -> None:
    with start(ask(), flags=("--timeout", "0.5"), arguments=("-p", "Go ahead.")) as run:
        assert run.ends() == 0
        (result,) = run.results
        assert result["behavior"] == "deny"
        assert result["message"].startswith("Nobody answered within 0.5 seconds. Do not ask it again")
        assert len(agent.questions("expired")) == 1
        assert agent.open_questions() == []


def test_an_outage_while_it_waits_changes_nothing(
    start: Start, front: Front, agent: Agent, person: Person
) -> None:
    with start(call := ask("Database?"), arguments=("-p", "Go ahead."), ASK_BRIDGE_URL=front.url) as run:
        question = asked(agent)
        front.fail_for_a_while()
        person.answer(question, "SQLite")
        assert run.ends() == 0
        assert run.results == [allowed(call, **{"Database?": "SQLite"})]


def test_a_refused_key_is_a_denial(start: Start) -> None:
    # An unreachable bridge is retried for half a minute; the reply is the same.
    with start(ask(), arguments=("-p", "Go ahead."), ASK_BRIDGE_KEY="abk_not_ours") as run:
        assert run.ends() == 0
        (result,) = run.results
        assert result["behavior"] == "deny"
        assert "No answer could be fetched from the bridge" in result["message"]
        assert "Do not ask it again" in result["message"]


def test_a_cancelled_request_ends_the_wait(start: Start, agent: Agent) -> None:
    with start(ask()) as run:
        run.say("Go ahead.")
        question = asked(agent)
        run.send({"type": "answered_elsewhere"})
        eventually(lambda: not agent.read(question["id"])["agent"]["active"])
        assert agent.read(question["id"])["status"] == "open"
        run.close_stdin()
        assert run.ends() == 0
        assert run.results == ["elsewhere"]
        assert "control_cancel_request" not in run.kinds()
        assert "control_response" not in [message["type"] for message in run.received]


# ---- every other tool ------------------------------------------------------------------------------------


def test_every_other_tool_is_denied_by_default(start: Start) -> None:
    with start(BASH, arguments=("-p", "Go ahead.")) as run:
        assert run.ends() == 0
        (result,) = run.results
        assert result["behavior"] == "deny"
        assert "Bash is not allowed here" in result["message"]
        assert "control_request" not in run.kinds()


def test_every_other_tool_is_allowed_by_flag(start: Start) -> None:
    with start(BASH, flags=("--others", "allow"), arguments=("-p", "Go ahead.")) as run:
        assert run.ends() == 0
        assert run.results == [{"behavior": "allow", "updatedInput": {"command": "ls"}}]


def test_every_other_tool_is_forwarded_by_flag(start: Start, agent: Agent, person: Person) -> None:
    with start(BASH, ask("Database?"), flags=("--others", "forward")) as run:
        run.say("Go ahead.")
        person.answer(asked(agent), "SQLite")
        (request,) = eventually(lambda: [each for each in run.messages if each["type"] == "control_request"])
        assert request["request"]["tool_name"] == "Bash"
        reply = {"behavior": "deny", "message": "The caller says no"}
        response = {"subtype": "success", "request_id": request["request_id"], "response": reply}
        run.send({"type": "control_response", "response": response})
        run.close_stdin()
        assert run.ends() == 0
        assert reply in run.results
        assert allowed(ask("Database?"), **{"Database?": "SQLite"}) in run.results


# ---- older clients ---------------------------------------------------------------------------------------


def test_an_old_client_gets_the_label_as_a_tool_result(start: Start, agent: Agent, person: Person) -> None:
    with start(ask(), flags=("--legacy-tool-result",), arguments=("-p", "Go ahead."), FAKE_OLD="1") as run:
        person.answer(asked(agent), "SQLite")
        assert run.ends() == 0
        block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "SQLite", "is_error": False}
        assert run.results == [block]


def test_an_old_client_gets_a_skip_as_an_error(start: Start, agent: Agent, person: Person) -> None:
    with start(ask(), flags=("--legacy-tool-result",), arguments=("-p", "Go ahead."), FAKE_OLD="1") as run:
        person.skip(asked(agent))
        assert run.ends() == 0
        (block,) = run.results
        assert block["is_error"] is True
        assert block["content"] == "Ana Costa chose not to answer."


def test_an_old_client_gets_a_reply_as_an_error(start: Start, agent: Agent, person: Person) -> None:
    with start(ask(), flags=("--legacy-tool-result",), arguments=("-p", "Go ahead."), FAKE_OLD="1") as run:
        person.ask_back(asked(agent), "How large?")
        assert run.ends() == 0
        (block,) = run.results
        assert block["is_error"] is True
        assert block["content"].startswith('Ana Costa asks back instead of choosing: "How large?".')


def test_a_current_client_gets_no_tool_result_even_with_the_legacy_flag(
    start: Start, agent: Agent, person: Person
) -> None:
    with start(ask("Database?"), flags=("--legacy-tool-result",), arguments=("-p", "Go ahead.")) as run:
        # The message and the request are about one tool use: it is asked once.
        eventually(lambda: "toolu_1" in json.dumps(run.messages))
        person.answer(asked(agent), "SQLite")
        assert run.ends() == 0
        assert run.results == [allowed(ask("Database?"), **{"Database?": "SQLite"})]
        assert [message["type"] for message in run.received] == ["user", "control_response"]


# ---- input, output and exit ------------------------------------------------------------------------------


def test_lines_of_text_become_messages_and_messages_are_forwarded(start: Start) -> None:
    with start() as run:
        run.send("Do something")
        message = {"type": "user", "message": {"role": "user", "content": "And that"}, "uuid": "1"}
        run.send(message)
        run.close_stdin()
        assert run.ends() == 0
        assert run.received == [
            {"type": "user", "message": {"role": "user", "content": "Do something"}},
            message,
        ]
        assert run.kinds().count("result") == 2


def test_with_a_prompt_the_child_ends_after_the_turn_although_stdin_stays_open(start: Start) -> None:
    with start(arguments=("-p", "Go ahead.", "--model", "opus")) as run:
        assert run.ends() == 0
        assert run.received[0]["message"]["content"] == "Go ahead."
        assert run.kinds() == ["system", "result"]


def test_empty_input_ends_the_child(start: Start) -> None:
    with start() as run:
        run.close_stdin()
        assert run.ends() == 0
        assert run.messages == []


def test_the_exit_code_is_that_of_the_child(start: Start) -> None:
    with start(arguments=("-p", "Go ahead."), FAKE_EXIT="3") as run:
        assert run.ends() == 3


def test_a_signal_is_forwarded_and_the_last_output_and_exit_code_are_kept(start: Start, agent: Agent) -> None:
    with start(ask(), arguments=("-p", "Go ahead."), FAKE_CATCHES="SIGTERM") as run:
        question = asked(agent)
        run.process.send_signal(signal.SIGTERM)
        assert run.ends() == 7
        assert run.messages[-1] == {"type": "last_words", "signal": "SIGTERM"}
        now = agent.read(question["id"])
        assert (now["status"], now["agent"]["active"]) == ("open", False)


def test_the_exit_code_after_a_signal_is_that_of_a_shell(start: Start, agent: Agent) -> None:
    with start(ask(), arguments=("-p", "Go ahead.")) as run:
        asked(agent)
        run.process.send_signal(signal.SIGTERM)
        assert run.ends() == 128 + signal.SIGTERM


def test_a_closed_stdout_ends_the_child(claude: Path, command: Command) -> None:
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [command.python, "-m", "bridge_client", "claude", "--claude", claude, "--", "-p", "Go ahead."],
        cwd=command.folder,
        env={
            **command.environment,
            "FAKE_CALLS": json.dumps([BASH]),
            "FAKE_LOG": str(command.folder / "log"),
        },
        stdin=subprocess.PIPE,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    os.close(reader)
    _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    assert "Traceback" not in errors


ADDED = [
    *("--verbose", "--input-format", "stream-json"),
    *("--output-format", "stream-json", "--permission-prompt-tool", "stdio"),
]


# ---- the command line of the child -----------------------------------------------------------------------


def test_the_arguments_reach_the_child(start: Start) -> None:
    with start(arguments=("-p", "Go ahead.", "--model", "opus")) as run:
        assert run.arguments == [*ADDED, "-p", "--model", "opus"]


def test_a_missing_program_is_reported_in_one_line(command: Command) -> None:
    done = command.run("claude", "--claude", "/nowhere/claude", "--", "-p", "Go")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "install Claude Code" in done.stderr
