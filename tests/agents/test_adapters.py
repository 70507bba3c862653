"""The real Claude Code behind our other adapters: the Agent SDK, stream-json and MCP."""

import json
import subprocess
from collections.abc import Callable

from bridge_client import Client
from bridge_client.sdk import ask_bridge_can_use_tool
from tests.agents.claude import STREAM_OUT, Claude
from tests.agents.hooks import COMMAND, variables
from tests.agents.scripted_model import PATIENCE_SECONDS, Call, Json, ask
from tests.agents.test_hooks import DATABASE, TOPPINGS, the_question
from tests.harness.agents import Agent
from tests.harness.people import Person
from tests.harness.timing import eventually

WhichClaude = Callable[..., Claude]


def address(room: Agent) -> str:
    return f"http://127.0.0.1:{room.site.port}"


# ---- the Agent SDK


def test_sdk_callback_answers_from_the_room_and_tells_of_a_skip(
    claude_with: WhichClaude, room: Agent, ana: Person
) -> None:
    answered, skipped = ask(DATABASE, TOPPINGS), ask(DATABASE)
    claude = claude_with(answered, skipped, "Thanks.")
    callback = ask_bridge_can_use_tool(Client(address(room), room.key, room.room))
    with claude.in_sdk(callback) as conversation:
        first = the_question(room)
        fields = {"choice-0": "1", "choice-1": ["0", "2"]}
        assert ana.post(ana.form_of(first)["action"], fields).status == 303
        told = claude.script.result_of(answered)
        assert '"Which database?"="SQLite"' in told
        assert '"Which toppings?"="Cheese, Olives"' in told
        ana.skip(the_question(room), "Later")
        assert claude.script.result_of(skipped).text == 'Ana Costa chose not to answer: "Later"'
        assert conversation.result(PATIENCE_SECONDS)[-1].result == "Thanks."  # type: ignore[union-attr]


def test_sdk_callback_tells_of_a_reply(claude_with: WhichClaude, room: Agent, ana: Person) -> None:
    claude = claude_with(call := ask(DATABASE))
    callback = ask_bridge_can_use_tool(Client(address(room), room.key, room.room))
    with claude.in_sdk(callback):
        ana.ask_back(the_question(room), "How large?")
        assert claude.script.result_of(call).text == (
            'Ana Costa asks back instead of choosing: "How large?". Answer that in your next message, '
            "and ask the question again if it is still open."
        )


def test_sdk_callback_lets_other_tools_run(claude_with: WhichClaude, room: Agent) -> None:
    claude = claude_with(call := Call("Bash", {"command": "touch made-by-claude", "description": "Touch"}))
    callback = ask_bridge_can_use_tool(Client(address(room), room.key, room.room))
    with claude.in_sdk(callback):
        assert not claude.script.result_of(call).is_error
    assert (claude.project / "made-by-claude").exists()


def test_sdk_callback_says_that_no_one_answered(claude_with: WhichClaude, room: Agent) -> None:
    claude = claude_with(call := ask(DATABASE))
    callback = ask_bridge_can_use_tool(Client(address(room), room.key, room.room), timeout=0.5)
    with claude.in_sdk(callback):
        told = claude.script.result_of(call)
    assert told.is_error
    assert "Nobody answered" in told


# ---- ask-bridge claude


def test_the_command_runs_claude_and_answers_for_it(
    claude_with: WhichClaude, room: Agent, ana: Person
) -> None:
    claude = claude_with(call := ask(DATABASE), "Thanks.", **variables(room))
    with claude.program(*COMMAND, "claude", "--", "-p", "Go ahead.", *STREAM_OUT) as run:
        ana.answer(the_question(room), "SQLite")
        assert '"Which database?"="SQLite"' in claude.script.result_of(call)
        assert run.expect("result")["result"] == "Thanks."
        assert run.wait() == 0
    assert not [message for message in run.messages if message["type"] == "control_request"]


def test_the_command_denies_other_tools_unless_told(claude_with: WhichClaude, room: Agent) -> None:
    touch = Call("Bash", {"command": "touch made-by-claude", "description": "Touch"})
    claude = claude_with(touch, **variables(room))
    with claude.program(*COMMAND, "claude", "--", "-p", "Go ahead.", *STREAM_OUT):
        assert claude.script.result_of(touch).is_error
    assert not (claude.project / "made-by-claude").exists()


def test_the_command_lets_other_tools_run_when_told(claude_with: WhichClaude, room: Agent) -> None:
    touch = Call("Bash", {"command": "touch made-by-claude", "description": "Touch"})
    claude = claude_with(touch, **variables(room))
    with claude.program(*COMMAND, "claude", "--others", "allow", "--", "-p", "Go ahead.", *STREAM_OUT):
        assert not claude.script.result_of(touch).is_error
    assert (claude.project / "made-by-claude").exists()


def test_a_command_that_is_stopped_says_goodbye(claude_with: WhichClaude, room: Agent) -> None:
    claude = claude_with(ask(DATABASE), **variables(room))
    with claude.program(*COMMAND, "claude", "--", "-p", "Go ahead.", *STREAM_OUT) as run:
        asked = the_question(room)
        run.process.terminate()
        eventually(lambda: not room.read(asked["id"])["agent"]["active"], seconds=5)
    assert room.read(asked["id"])["status"] == "open"


# ---- MCP


def mcp_config(room: Agent, *arguments: str, **more: str) -> str:
    program, *rest = COMMAND
    server: Json = {"command": program, "args": [*rest, "mcp", *arguments], "env": variables(room) | more}
    return json.dumps({"mcpServers": {"bridge": server}})


def test_the_mcp_tool_asks_the_room(claude_with: WhichClaude, room: Agent, ana: Person) -> None:
    call = Call("mcp__bridge__ask_user_question", {"questions": [DATABASE, TOPPINGS]})
    claude = claude_with(call, "Thanks.")
    flags = ("--mcp-config", mcp_config(room), "--allowedTools", call.name)
    with claude.running(*flags) as run:
        asked = the_question(room)
        fields = {"choice-0": "1", "choice-1": ["0", "2"]}
        assert ana.post(ana.form_of(asked)["action"], fields).status == 303
        told = json.loads(claude.script.result_of(call).text)
        assert run.expect("result")["result"] == "Thanks."
    assert told["status"] == "answered"
    assert [choice["selectedOptions"] for choice in told["answers"]] == [["SQLite"], ["Cheese", "Olives"]]


def test_near_its_limit_the_mcp_tool_says_how_to_go_on(
    claude_with: WhichClaude, room: Agent, ana: Person
) -> None:
    allowed = ("--allowedTools", "mcp__bridge")
    first = Call("mcp__bridge__ask_user_question", {"questions": [DATABASE]})
    claude = claude_with(first, "Later, then.")
    with claude.running("--mcp-config", mcp_config(room, "--timeout", "5"), *allowed):
        told = json.loads(claude.script.result_of(first).text)
    assert told["status"] == "still_open"
    asked = room.open_questions()[0]
    assert told["question_id"] == asked["id"]
    ana.answer(asked, "SQLite")
    second = Call("mcp__bridge__wait_for_answer", {"question_id": asked["id"]})
    claude = claude_with(second)
    with claude.running("--mcp-config", mcp_config(room), *allowed):
        told = json.loads(claude.script.result_of(second).text)
    assert (told["status"], told["answers"][0]["selectedOptions"]) == ("answered", ["SQLite"])


def test_the_mcp_prompt_tool_answers_ask_user_question(
    claude_with: WhichClaude, room: Agent, ana: Person
) -> None:
    claude = claude_with(call := ask(DATABASE))
    prompt_tool = ("--permission-prompt-tool", "mcp__bridge__approve")
    with claude.running("--mcp-config", mcp_config(room), *prompt_tool):
        ana.answer(the_question(room), "SQLite")
        assert '"Which database?"="SQLite"' in claude.script.result_of(call)


def test_the_mcp_tool_makes_up_nothing_when_the_bridge_is_down(claude_with: WhichClaude, room: Agent) -> None:
    call = Call("mcp__bridge__ask_user_question", {"questions": [DATABASE]})
    claude = claude_with(call)
    away = mcp_config(room, "--timeout", "3", ASK_BRIDGE_URL="http://127.0.0.1:9")
    with claude.running("--mcp-config", away, "--allowedTools", call.name):
        told = claude.script.result_of(call)
    assert told.is_error
    assert "SQLite" not in told.text


def test_the_client_from_the_bridge_itself_is_enough(
    claude_with: WhichClaude, room: Agent, ana: Person
) -> None:
    """Downloaded, installed with one command, and used by the real client: no package anywhere."""
    claude = claude_with(call := ask(DATABASE))
    archive = claude.home / "ask-bridge.pyz"
    archive.write_bytes(room.site.download("/ask-bridge.pyz"))
    flags = ("--url", address(room), "--room", room.room, "--key", room.key)
    subprocess.run(
        ["python3", str(archive), "install", "claude-code", "--web-first", "--yes", *flags],
        env=claude.environment,
        check=True,
        capture_output=True,
    )
    with claude.running("--permission-prompt-tool", "stdio"):
        ana.answer(the_question(room), "SQLite")
        assert '"Which database?"="SQLite"' in claude.script.result_of(call)
