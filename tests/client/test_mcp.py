"""`ask-bridge mcp`: the real server process with the official client."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, Implementation, TextContent

from bridge_client.mcp.call import Limits
from rooms.contract.care import Care
from tests.client.conftest import Command, ends
from tests.client.loopback import Front, Request, forward, hold_back, reply
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.people import Person
from tests.harness.timing import PATIENCE_SECONDS, eventually

QUESTION = {
    "question": "Which database?",
    "header": "Database",
    "multiSelect": False,
    "options": [
        {"label": "PostgreSQL", "description": "Grows with you"},
        {"label": "SQLite", "description": "One file"},
    ],
}
ASK = {"questions": [QUESTION]}
PROMPT = {"tool_name": "AskUserQuestion", "input": ASK, "tool_use_id": "toolu_1"}


@asynccontextmanager
async def connected(
    command: Command, *arguments: str, is_modern: bool = False, **environment: str
) -> AsyncIterator[ClientSession]:
    """A session with its own server; what the server writes to stderr goes to the client's log."""
    server = StdioServerParameters(
        command=command.python,
        args=["-m", "bridge_client", "mcp", *arguments],
        env={**command.environment, **environment},
        cwd=command.folder,
    )
    info = Implementation(name="tester", title="A tester", version="1")
    with (command.folder / "errors").open("w") as errors:
        async with (
            stdio_client(server, errors) as streams,
            ClientSession(*streams, client_info=info) as session,
        ):
            await (session.discover() if is_modern else session.initialize())
            yield session
    assert (command.folder / "errors").read_text() == ""


def run(test: Callable[[], Awaitable[None]]) -> None:
    """Run the test with a time limit."""

    async def within_patience() -> None:
        async with asyncio.timeout(6 * PATIENCE_SECONDS):
            await test()

    asyncio.run(within_patience())


async def seen(look: Callable[[], Any]) -> Any:
    """The result of `look`, without blocking the client."""
    return await asyncio.to_thread(eventually, look)


async def asked(agent: Agent) -> Any:
    """The only question in the room, once the agent waits for it."""
    return await seen(
        lambda: next((each for each in agent.open_questions() if each["agent"]["active"]), None)
    )


@contextmanager
def serving(command: Command) -> "Iterator[subprocess.Popen[str]]":
    """The process alone, for tests that end it abruptly."""
    process = subprocess.Popen(
        [command.python, "-m", "bridge_client", "mcp"],
        cwd=command.folder,
        env=command.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def send_ask(process: "subprocess.Popen[str]") -> None:
    """Initialise and ask, with raw protocol messages."""
    assert process.stdin
    info = {"name": "bare", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    call = {"name": "ask_user_question", "arguments": ASK}
    for message in (
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()


def data(result: CallToolResult) -> dict[str, Any]:
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def texts(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, TextContent)]


def decision(result: CallToolResult) -> Any:
    """What Claude Code reads from its permission-prompt tool: a single text."""
    assert result.structured_content is None
    assert not result.is_error
    (text,) = texts(result)
    return json.loads(text)


def test_four_tools_are_listed_with_their_schemas(command: Command) -> None:
    async def test() -> None:
        async with connected(command) as session:
            tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert set(tools) == {"ask_user_question", "wait_for_answer", "recall_decisions", "approve"}
        questions = tools["ask_user_question"].input_schema["properties"]["questions"]
        assert (questions["minItems"], questions["maxItems"]) == (1, 4)
        care = tools["ask_user_question"].input_schema["properties"]["care"]
        assert set(care["properties"]) == set(Care.model_fields)
        prompt = questions["items"]["properties"]
        assert set(prompt) == {"question", "header", "options", "multiSelect"}
        assert (prompt["options"]["minItems"], prompt["options"]["maxItems"]) == (2, 4)
        assert set(prompt["options"]["items"]["properties"]) == {"label", "description", "preview"}

    run(test)


def test_earlier_decisions_are_recalled(command: Command, agent: Agent, person: Person) -> None:
    person.answer(agent.ask(), "SQLite")

    async def test() -> None:
        async with connected(command) as session:
            await session.list_tools()
            result = await session.call_tool("recall_decisions", {"question": "Which database?"})
            (memory,) = result.structured_content["memories"]
            assert memory["similarity"] == 1
            assert memory["answers"][0]["selectedOptions"] == ["SQLite"]
            assert memory["by"]["name"] == person.name
            assert "100% similar" in texts(result)[0]
            nothing = await session.call_tool("recall_decisions", {"question": "What shall we eat tonight?"})
            assert nothing.structured_content == {"memories": []}
            refused = await session.call_tool("recall_decisions", {"question": ""})
            assert refused.is_error

    run(test)


@pytest.mark.parametrize("is_modern", [False, True], ids=["handshake", "2026-07-28"])
def test_a_click_answers_the_call(command: Command, agent: Agent, person: Person, is_modern: bool) -> None:
    async def test() -> None:
        async with connected(command, is_modern=is_modern) as session:
            # The client checks every result against the tool's schema.
            await session.list_tools()
            calling = asyncio.create_task(session.call_tool("ask_user_question", ASK))
            question = await asked(agent)
            assert question["agent"]["name"] == "A tester"
            assert question["context"]["cwd"] == str(command.folder)
            await asyncio.to_thread(person.answer, question, "SQLite")
            result = await calling
        answer = {
            "question": "Which database?",
            "selectedOptions": ["SQLite"],
            "customInput": None,
            "notes": None,
        }
        assert data(result) == {
            "status": "answered",
            "question_id": question["id"],
            "kind": "choice",
            "answers": [answer],
            "by": {"username": "ana", "name": "Ana Costa"},
            "via": "web",
            "is_default": False,
        }
        readable, as_json = texts(result)
        assert readable == 'Ana Costa answered:\n- "Which database?" = SQLite'
        assert json.loads(as_json) == data(result)
        assert not result.is_error

    run(test)


def test_several_labels_a_text_and_notes_stay_apart(command: Command, agent: Agent, person: Person) -> None:
    async def test() -> None:
        async with connected(command) as session:
            questions = {"questions": [{**QUESTION, "multiSelect": True}]}
            calling = asyncio.create_task(session.call_tool("ask_user_question", questions))
            question = await asked(agent)
            fields = person.form_of(question)["fields"]
            chosen = [fields["PostgreSQL"], fields["SQLite"], ("choice-0", "other"), ("other-0", "DuckDB")]
            await asyncio.to_thread(person.submit, question, *chosen, ("notes-0", "Small"))
            result = await calling
        (answer,) = data(result)["answers"]
        assert answer["selectedOptions"] == ["PostgreSQL", "SQLite"]
        assert (answer["customInput"], answer["notes"]) == ("DuckDB", "Small")
        assert 'PostgreSQL, SQLite, DuckDB (note: "Small")' in texts(result)[0]

    run(test)


def test_several_calls_wait_at_once_and_each_gets_its_own_answer(
    command: Command, agent: Agent, person: Person
) -> None:
    # More than the threads of asyncio's default executor on a small machine.
    names = [f"Question {number}?" for number in range(12)]

    async def test() -> None:
        async with connected(command) as session:
            calls = [
                asyncio.create_task(
                    session.call_tool("ask_user_question", {"questions": [{**QUESTION, "question": name}]})
                )
                for name in names
            ]
            waiting = await seen(
                lambda: (
                    len(found := agent.open_questions()) == len(names)
                    and all(each["agent"]["active"] for each in found)
                    and found
                )
            )
            labels = {}
            for index, question in enumerate(reversed(waiting)):
                label = ["PostgreSQL", "SQLite"][index % 2]
                labels[question["questions"][0]["question"]] = label
                await asyncio.to_thread(person.answer, question, label)
            for name, result in zip(names, await asyncio.gather(*calls), strict=True):
                (answer,) = data(result)["answers"]
                assert (answer["question"], answer["selectedOptions"]) == (name, [labels[name]])

    run(test)


def test_a_skip_comes_with_who_and_why(command: Command, agent: Agent, person: Person) -> None:
    async def test() -> None:
        async with connected(command) as session:
            calling = asyncio.create_task(session.call_tool("ask_user_question", ASK))
            await asyncio.to_thread(person.skip, await asked(agent), "Not mine to decide")
            result = await calling
        assert data(result)["status"] == "declined"
        assert data(result)["by"]["name"] == "Ana Costa"
        assert data(result)["message"] == 'Ana Costa chose not to answer: "Not mine to decide"'
        assert data(result)["kind"] == "skip"
        assert "answers" not in data(result)

    run(test)


def test_a_reply_comes_with_what_they_ask(command: Command, agent: Agent, person: Person) -> None:
    async def test() -> None:
        async with connected(command) as session:
            calling = asyncio.create_task(session.call_tool("ask_user_question", ASK))
            await asyncio.to_thread(person.ask_back, await asked(agent), "How large?")
            result = await calling
        assert (data(result)["status"], data(result)["kind"]) == ("declined", "reply")
        assert data(result)["reason"] == "How large?"
        assert data(result)["message"].startswith('Ana Costa asks back instead of choosing: "How large?".')
        assert not result.is_error

    run(test)


def test_a_default_is_marked_as_one(command: Command, agent: Agent) -> None:
    question = agent.ask(timeout_seconds=5, default={"Which database?": ["SQLite"]})

    async def test() -> None:
        async with connected(command) as session:
            result = await session.call_tool("wait_for_answer", {"question_id": question["id"]})
        assert (data(result)["status"], data(result)["via"], data(result)["is_default"]) == (
            "expired",
            "default",
            True,
        )
        assert data(result)["answers"][0]["selectedOptions"] == ["SQLite"]
        assert "not a person's choice" in texts(result)[0]

    run(test)


@pytest.mark.parametrize("status", ["expired", "withdrawn"])
def test_without_an_answer_none_is_invented(command: Command, agent: Agent, status: str) -> None:
    question = agent.ask(**({"timeout_seconds": 0.2} if status == "expired" else {}))
    if status == "withdrawn":
        agent.call("DELETE", f"/api/v1/questions/{question['id']}")

    async def test() -> None:
        async with connected(command) as session:
            result = await session.call_tool("wait_for_answer", {"question_id": question["id"]})
        assert data(result)["status"] == status
        assert "answers" not in data(result)
        assert "Do not ask it again" in data(result)["message"]

    run(test)


def test_near_the_limit_the_model_is_told_to_wait_again(
    command: Command, agent: Agent, person: Person
) -> None:
    async def test() -> None:
        async with connected(command, MCP_TOOL_TIMEOUT="6000") as session:
            result = await session.call_tool("ask_user_question", ASK, read_timeout_seconds=6)
            (question,) = agent.open_questions()
            assert question["agent"]["active"], "the model is about to wait again"
            assert data(result)["status"] == "still_open"
            assert data(result)["question_id"] == question["id"]
            assert data(result)["next"] == "call wait_for_answer with this id"
            assert question["id"] in texts(result)[0]
            assert not result.is_error
            waiting = asyncio.create_task(
                session.call_tool("wait_for_answer", {"question_id": question["id"]})
            )
            await asyncio.to_thread(person.answer, question, "PostgreSQL")
            assert data(await waiting)["answers"][0]["selectedOptions"] == ["PostgreSQL"]

    run(test)


def test_a_silent_bridge_does_not_delay_the_reply(
    make_command: Callable[..., Command], agent: Agent, front: Front
) -> None:
    async def test() -> None:
        async with connected(make_command(front.url, agent), MCP_TOOL_TIMEOUT="6000") as session:
            front.always = hold_back
            result = await session.call_tool("ask_user_question", ASK, read_timeout_seconds=6)
            assert data(result)["status"] == "unreachable"
            question = agent.ask()
            waited = await session.call_tool(
                "wait_for_answer", {"question_id": question["id"]}, read_timeout_seconds=6
            )
            assert data(waited)["status"] == "still_open"

    run(test)


@pytest.mark.parametrize("tool", ["ask_user_question", "approve"])
def test_an_outage_while_it_waits_changes_nothing(
    make_command: Callable[..., Command], agent: Agent, front: Front, person: Person, tool: str
) -> None:
    async def test() -> None:
        async with connected(make_command(front.url, agent)) as session:
            arguments = PROMPT if tool == "approve" else ASK
            calling = asyncio.create_task(session.call_tool(tool, arguments))
            question = await asked(agent)
            await asyncio.to_thread(front.fail_for_a_while)
            await asyncio.to_thread(person.answer, question, "SQLite")
            assert "SQLite" in texts(await calling)[0]

    run(test)


def test_a_model_whose_call_ends_during_a_restart_waits_again(
    make_command: Callable[..., Command], agent: Agent, front: Front
) -> None:
    away = reply(503, Retry_After="60")

    def stop_late(front: Front, client: socket.socket, request: Request) -> None:
        client.settimeout(0.8 * float(request.target.partition("wait=")[2]))
        with suppress(TimeoutError):
            client.recv(1)
        away(front, client, request)

    async def test() -> None:
        async with connected(make_command(front.url, agent), MCP_TOOL_TIMEOUT="6000") as session:
            front.next.extend([forward, stop_late])
            front.always = away
            result = await session.call_tool("ask_user_question", ASK)
            (question,) = agent.open_questions()
            assert data(result)["status"] == "still_open"
            assert data(result)["question_id"] == question["id"]
            assert data(result)["message"] == (
                "The bridge does not reply at the moment; the question stays open."
            )
            assert not result.is_error
            # It is still away for the whole next call: that is no restart.
            waited = await session.call_tool("wait_for_answer", {"question_id": question["id"]})
            assert data(waited)["status"] == "unreachable"
            assert "Do not ask it again" in data(waited)["message"]

    run(test)


def test_a_client_that_wants_progress_gets_it(command: Command, agent: Agent, person: Person) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def test() -> None:
        async with connected(command, "--progress", "0.05", "--timeout", "100") as session:
            calling = asyncio.create_task(
                session.call_tool("ask_user_question", ASK, progress_callback=listen)
            )
            question = await asked(agent)
            await seen(lambda: len([each for each in heard if question["url"] in str(each[2])]) >= 3)
            await asyncio.to_thread(person.answer, question, "SQLite")
            await calling
        assert [each[0] for each in heard] == sorted({each[0] for each in heard})
        assert {each[1] for each in heard} == {95}

    run(test)


def test_a_cancelled_call_stops_waiting_at_once_and_leaves_the_question(
    command: Command, agent: Agent, person: Person
) -> None:
    async def test() -> None:
        async with connected(command) as session:
            calling = asyncio.create_task(session.call_tool("ask_user_question", ASK))
            question = await asked(agent)
            calling.cancel()
            await seen(lambda: not agent.read(question["id"])["agent"]["active"])
            assert agent.read(question["id"])["status"] == "open"
            # The server keeps running: a later wait gets the answer.
            waiting = asyncio.create_task(
                session.call_tool("wait_for_answer", {"question_id": question["id"]})
            )
            await asked(agent)
            await asyncio.to_thread(person.answer, question, "SQLite")
            assert data(await waiting)["status"] == "answered"

    run(test)


def test_a_closed_stdin_stops_waiting_and_ends_the_server(command: Command, agent: Agent) -> None:
    with serving(command) as process:
        send_ask(process)
        question = eventually(lambda: next(iter(agent.open_questions()), None))
        eventually(lambda: agent.read(question["id"])["agent"]["active"])
        process.stdin.close()
        process.stdin = None
        assert ends(process)[0] == 0
        now = agent.read(question["id"])
        assert (now["status"], now["agent"]["active"]) == ("open", False)


@pytest.mark.parametrize("signal_name", ["SIGTERM", "SIGINT"])
def test_a_signal_ends_the_wait_before_the_server_exits(
    command: Command, agent: Agent, signal_name: str
) -> None:
    number = getattr(signal, signal_name)
    with serving(command) as process:
        send_ask(process)
        question = eventually(lambda: next(iter(agent.open_questions()), None))
        eventually(lambda: agent.read(question["id"])["agent"]["active"])
        process.send_signal(number)
        assert process.wait(PATIENCE_SECONDS) == 128 + number
        now = agent.read(question["id"])
        assert (now["status"], now["agent"]["active"]) == ("open", False)


def test_a_bridge_that_is_down_is_an_error_without_an_answer(
    make_command: Callable[..., Command], agent: Agent
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]

    async def test() -> None:
        down = make_command(f"http://127.0.0.1:{port}", agent)
        async with connected(down, MCP_TOOL_TIMEOUT="3000") as session:
            result = await session.call_tool("ask_user_question", ASK)
            assert result.is_error
            assert data(result)["status"] == "unreachable"
            assert "answers" not in data(result)
            (text,) = texts(result)
            assert "Cannot reach the bridge" in text
            assert "Do not ask it again" in text
            denied = decision(await session.call_tool("approve", PROMPT))
            assert denied["behavior"] == "deny"
            assert "Do not ask it again" in denied["message"]

    run(test)


def test_the_same_tool_use_asks_once(command: Command, agent: Agent, person: Person) -> None:
    meta: Any = {"claudecode/toolUseId": "toolu_7"}

    async def test() -> None:
        async with connected(command, CLAUDE_CODE_SESSION_ID="session-7") as session:
            calls = [
                asyncio.create_task(session.call_tool("ask_user_question", ASK, meta=meta)) for _ in range(2)
            ]
            question = await asked(agent)
            assert (question["session_id"], question["tool_use_id"]) == ("session-7", "toolu_7")
            await asyncio.to_thread(person.answer, question, "SQLite")
            assert {data(result)["question_id"] for result in await asyncio.gather(*calls)} == {
                question["id"]
            }
        # The client has crashed and is started again with the same session.
        async with connected(command, CLAUDE_CODE_SESSION_ID="session-7") as session:
            again = await session.call_tool("ask_user_question", ASK, meta=meta)
            assert data(again)["question_id"] == question["id"]
            assert data(again)["status"] == "answered"

    run(test)


def test_a_refused_question_says_what_to_fix(command: Command) -> None:
    async def test() -> None:
        async with connected(command) as session:
            one_option = {**QUESTION, "options": QUESTION["options"][:1]}
            result = await session.call_tool("ask_user_question", {"questions": [one_option]})
            assert result.is_error
            assert data(result)["status"] == "invalid"
            assert "needs 2 to 4 options, got 1" in texts(result)[0]
            unknown = await session.call_tool("wait_for_answer", {"question_id": "q_nothing"})
            assert unknown.is_error
            assert data(unknown)["status"] == "invalid"
            nothing = await session.call_tool("ask_user_question", {})
            assert data(nothing)["status"] == "invalid"

    run(test)


# ---- the permission-prompt tool --------------------------------------------------------------------------


def test_a_permission_prompt_for_a_question_is_answered_from_the_room(
    command: Command, agent: Agent, person: Person
) -> None:
    async def test() -> None:
        async with connected(command) as session:
            calling = asyncio.create_task(session.call_tool("approve", PROMPT))
            question = await asked(agent)
            assert question["tool_use_id"] == "toolu_1"
            assert question["agent"]["name"] == "Claude Code"
            await asyncio.to_thread(person.answer, question, "PostgreSQL")
            updated = {**ASK, "answers": {"Which database?": "PostgreSQL"}}
            assert decision(await calling) == {"behavior": "allow", "updatedInput": updated}

    run(test)


def test_a_permission_prompt_for_a_follow_up_question_is_answered_as_well(
    command: Command, agent: Agent, person: Person
) -> None:
    async def test() -> None:
        async with connected(command) as session:
            follow_up = {"question": "Which colour?", "follow_up": ["Red", "Blue"]}
            prompt = {"tool_name": "AskFollowupQuestion", "input": follow_up, "tool_use_id": "toolu_1"}
            calling = asyncio.create_task(session.call_tool("approve", prompt))
            await asyncio.to_thread(person.answer, await asked(agent), "Blue")
            updated = {**follow_up, "answers": {"Which colour?": "Blue"}}
            assert decision(await calling) == {"behavior": "allow", "updatedInput": updated}

    run(test)


def test_a_permission_prompt_that_is_skipped_is_denied_with_the_reason(
    command: Command, agent: Agent, person: Person
) -> None:
    async def test() -> None:
        async with connected(command) as session:
            calling = asyncio.create_task(session.call_tool("approve", PROMPT))
            await asyncio.to_thread(person.skip, await asked(agent), "Later")
            message = 'Ana Costa chose not to answer: "Later"'
            assert decision(await calling) == {"behavior": "deny", "message": message}

    run(test)


def test_a_permission_prompt_that_is_replied_to_is_denied_with_the_reply(
    command: Command, agent: Agent, person: Person
) -> None:
    async def test() -> None:
        async with connected(command) as session:
            calling = asyncio.create_task(session.call_tool("approve", PROMPT))
            await asyncio.to_thread(person.ask_back, await asked(agent), "How large?")
            denied = decision(await calling)
            assert denied["behavior"] == "deny"
            assert denied["message"].startswith('Ana Costa asks back instead of choosing: "How large?".')

    run(test)


def test_a_permission_prompt_without_an_answer_is_denied_in_time_and_expires(
    command: Command, agent: Agent
) -> None:
    async def test() -> None:
        async with connected(command, "--timeout", "3") as session:
            denied = decision(await session.call_tool("approve", PROMPT, read_timeout_seconds=4))
            assert denied["behavior"] == "deny"
            assert denied["message"].startswith("Nobody answered within 2 seconds. Do not ask it again")
        assert len(await asyncio.to_thread(eventually, lambda: agent.questions("expired"))) == 1

    run(test)


def test_a_permission_prompt_to_a_silent_bridge_is_denied_in_time(
    make_command: Callable[..., Command], agent: Agent, front: Front
) -> None:
    def hold_back_waits(front: Front, client: socket.socket, request: Request) -> None:
        (hold_back if request.method == "GET" else forward)(front, client, request)

    async def test() -> None:
        async with connected(make_command(front.url, agent), "--timeout", "3") as session:
            front.always = hold_back_waits
            denied = decision(await session.call_tool("approve", PROMPT, read_timeout_seconds=4))
            assert denied["behavior"] == "deny"
            reason = "No answer could be fetched from the bridge. It did not reply in time"
            assert denied["message"].startswith(f"{reason}. Do not ask it again")

    run(test)


def test_every_other_tool_is_denied_unless_allowed_by_flag(command: Command, agent: Agent) -> None:
    prompt = {"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "toolu_2"}

    async def test() -> None:
        async with connected(command) as session:
            denied = decision(await session.call_tool("approve", prompt))
            assert denied["behavior"] == "deny"
            assert "Bash is not allowed here" in denied["message"]
        async with connected(command, "--others", "allow") as session:
            allowed = decision(await session.call_tool("approve", prompt))
            assert allowed == {"behavior": "allow", "updatedInput": {"command": "ls"}}
        assert agent.open_questions() == []

    run(test)


# ---- limits and setup ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flag", "environment", "client", "seconds"),
    [
        (None, "", "another", 60),
        (None, "", "claude-code", 115),
        (None, "120000", "claude-code", 120),
        (None, "10", "claude-code", 1),
        (None, "soon", "another", 60),
        (90, "120000", "claude-code", 90),
    ],
)
def test_the_limit_is_the_flag_or_the_setting_or_the_usual_one(
    flag: float | None, environment: str, client: str, seconds: float
) -> None:
    assert Limits(flag).limit_seconds(client, {"MCP_TOOL_TIMEOUT": environment}) == seconds


def test_a_missing_package_is_reported_in_one_line(command: Command) -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-m", "bridge_client", "mcp"],
        env=command.environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert 'pip install "ask-bridge[mcp]"' in done.stderr


# ---- careful questions -----------------------------------------------------------------------------------


def test_several_people_vote_and_all_are_named(
    command: Command, agent: Agent, person: Person, bridge: Bridge
) -> None:
    arguments = {**ASK, "care": {"votes": {"needed": 2, "of": ["ana", "ben"]}}}

    async def test() -> None:
        async with connected(command, "--timeout", "8") as session:
            await session.list_tools()
            calling = asyncio.create_task(session.call_tool("ask_user_question", arguments))
            question = await asked(agent)
            await asyncio.to_thread(person.answer, question, "SQLite")
            undecided = await calling
            waiting = session.call_tool("wait_for_answer", {"question_id": question["id"]})
            calling = asyncio.create_task(waiting)
            await asyncio.to_thread(bridge.person("ben").answer, question, "SQLite")
            result = await calling
        assert data(undecided)["status"] == "still_open"
        assert data(undecided)["message"] == "Too few people agree so far; the question stays open."
        assert data(result)["by"] == {"username": "ben", "name": "Ben Okafor"}
        assert [vote["by"] for vote in data(result)["votes"]] == [
            {"username": "ana", "name": "Ana Costa"},
            {"username": "ben", "name": "Ben Okafor"},
        ]
        assert texts(result)[0].startswith("Ana Costa and Ben Okafor answered:")

    run(test)


@pytest.mark.parametrize(
    ("setting", "wanted", "got"),
    [
        ({"undo_seconds": 7}, None, (None, None, 7, None)),
        ({"undo_seconds": 7}, {"votes": {"needed": 2}}, (None, 2, 7, None)),
        ({"undo_seconds": 7}, {"undo_seconds": 1}, (None, None, 7, None)),
        ({"first": "ana"}, {"escalate_seconds": 1}, (["ana"], None, None, 900)),
        ({"first": "ana", "escalate_seconds": 60}, {"escalate_seconds": 1}, (["ana"], None, None, 60)),
    ],
)
def test_a_model_can_add_care_but_never_remove_configured_care(
    command: Command, agent: Agent, setting: Any, wanted: Any, got: Any
) -> None:
    arguments = {**ASK, **({"care": wanted} if wanted else {})}

    async def test() -> None:
        async with connected(command, "--timeout", "1", ASK_BRIDGE_CARE=json.dumps(setting)) as session:
            await session.call_tool("ask_user_question", arguments)

    run(test)
    [question] = agent.open_questions()
    care = question["care"]
    first, votes = care["first"] and care["first"]["people"], care["votes"] and care["votes"]["needed"]
    assert (first, votes, care["undo_seconds"], care["escalate_seconds"]) == got


def test_refused_care_says_what_to_fix(command: Command) -> None:
    async def test() -> None:
        async with connected(command) as session:
            result = await session.call_tool("ask_user_question", {**ASK, "care": {"vote": 2}})
            assert result.is_error
            assert "care.vote" in texts(result)[0]

    run(test)
