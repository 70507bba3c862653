"""What the real Claude Code does with hooks, callbacks and keys: our clients rely on it."""

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Event
from typing import Any
from urllib.request import Request, urlopen

from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny, ToolPermissionContext

from tests.agents.claude import Claude, hook
from tests.agents.hook_server import hook_server
from tests.agents.scripted_model import PATIENCE_SECONDS, Call, Json, ScriptedModel, ask, question
from tests.agents.terminal import ESCAPE
from tests.harness.timing import eventually

WhichClaude = Callable[..., Claude]

DATABASE = question("Which database?", "PostgreSQL", "SQLite")
CACHE = question("Which cache?", "Redis", "None")
TOPPINGS = question("Which toppings?", "Cheese", "Ham", "Olives", multi=True)

# Without it `claude -p` has no AskUserQuestion; with hooks that answer, there is no prompt.
MAY_ASK = ("--permission-prompt-tool", "stdio")


def with_answers(tool_input: Json, label: str = "SQLite") -> Json:
    answers = {asked["question"]: label for asked in tool_input["questions"]}
    return {**tool_input, "answers": answers}


def allowed(envelope: Json, label: str = "SQLite") -> Json:
    """What a hook returns to answer for the person."""
    event, answered = envelope["hook_event_name"], with_answers(envelope["tool_input"], label)
    if event == "PermissionRequest":
        decision: Json = {"decision": {"behavior": "allow", "updatedInput": answered}}
    else:
        decision = {"permissionDecision": "allow", "updatedInput": answered}
    return {"hookSpecificOutput": {"hookEventName": event, **decision}}


def python(script: str, *arguments: str) -> str:
    """A command line that runs a script of ours."""
    return shlex.join([sys.executable, "-c", script, *arguments])


ANSWERING_COMMAND = """
import json, sys
given = json.load(sys.stdin)["tool_input"]
answered = {**given, "answers": {"Which database?": "SQLite"}}
print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow",
    "updatedInput": answered, "additionalContext": "Ana answered."}}))
"""

WAITING_COMMAND = """
import pathlib, signal, sys
note = pathlib.Path(sys.argv[1])
def stop(*_):
    note.write_text("stopped")
    sys.exit()
signal.signal(signal.SIGTERM, stop)
note.write_text("waiting")
signal.pause()
"""

PROMPT_TOOL = """
import json
from mcp.server.mcpserver import MCPServer
server = MCPServer("bridge")
# Structured output would reach the client in place of the text, and it takes only text.
@server.tool(structured_output=False)
def approve(tool_name: str, input: dict, tool_use_id: str) -> str:
    answered = {**input, "answers": {"Which database?": "SQLite"}}
    return json.dumps({"behavior": "allow", "updatedInput": answered})
server.run()
"""


def test_command_hook_answers(claude_with: WhichClaude) -> None:
    call = ask(DATABASE)
    settings = hook("PreToolUse", type="command", command=python(ANSWERING_COMMAND))
    claude = claude_with(call, "Thanks.", settings=settings)
    with claude.running(*MAY_ASK) as run:
        told = claude.script.result_of(call)
        assert '"Which database?"="SQLite"' in told
        assert "Ana answered." in told.beside
        assert run.expect("result")["result"] == "Thanks."
        assert run.wait() == 0
    assert claude.processes() == []


def test_headless_client_without_a_prompt_tool_cannot_ask(claude_with: WhichClaude) -> None:
    settings = hook("PreToolUse", type="command", command=python(ANSWERING_COMMAND))
    claude = claude_with(call := ask(DATABASE), settings=settings)
    with claude.running() as run:
        assert run.wait() == 0
    assert claude.script.tool_results[call.id].is_error
    assert "AskUserQuestion" not in claude.script.tools
    assert "Bash" in claude.script.tools


def test_http_hook_answers_and_sends_a_key_from_the_environment(claude_with: WhichClaude) -> None:
    call = ask(DATABASE)
    with hook_server(allowed) as server:
        settings = hook(
            "PreToolUse",
            type="http",
            url=server.url,
            headers={"Authorization": "Bearer $ASK_BRIDGE_KEY"},
            allowedEnvVars=["ASK_BRIDGE_KEY"],
        )
        claude = claude_with(call, settings=settings, ASK_BRIDGE_KEY="abk_lookup_secret")
        with claude.running(*MAY_ASK):
            assert '"Which database?"="SQLite"' in claude.script.result_of(call)
        assert server.envelopes[0]["tool_use_id"] == call.id
        assert server.headers[0]["Authorization"] == "Bearer abk_lookup_secret"


def test_parallel_calls_run_their_hooks_at_once(claude_with: WhichClaude) -> None:
    both_ask = Barrier(2, timeout=PATIENCE_SECONDS)

    def answer(envelope: Json) -> Json:
        both_ask.wait()
        return allowed(envelope, envelope["tool_input"]["questions"][0]["options"][0]["label"])

    database, cache = ask(DATABASE), ask(CACHE)
    with hook_server(answer) as server:
        claude = claude_with([database, cache], settings=hook("PreToolUse", type="http", url=server.url))
        with claude.running(*MAY_ASK):
            assert '"Which database?"="PostgreSQL"' in claude.script.result_of(database)
            assert '"Which cache?"="Redis"' in claude.script.result_of(cache)


def test_caller_answers_on_stream_json(claude_with: WhichClaude) -> None:
    claude = claude_with(call := ask(DATABASE))
    with claude.streaming() as run:
        request = run.expect("control_request")
        assert request["request"]["tool_use_id"] == call.id
        answered = with_answers(request["request"]["input"])
        run.reply(request, {"behavior": "allow", "updatedInput": answered})
        assert '"Which database?"="SQLite"' in claude.script.result_of(call)
        assert run.expect("result")["subtype"] == "success"
        assert run.wait() == 0


def test_mcp_prompt_tool_answers(claude_with: WhichClaude) -> None:
    servers = {"mcpServers": {"bridge": {"command": sys.executable, "args": ["-c", PROMPT_TOOL]}}}
    claude = claude_with(call := ask(DATABASE))
    prompt_tool = ("--permission-prompt-tool", "mcp__bridge__approve")
    with claude.running("--mcp-config", json.dumps(servers), *prompt_tool):
        assert '"Which database?"="SQLite"' in claude.script.result_of(call)


async def answer_or_refuse(
    name: str, given: dict[str, Any], context: ToolPermissionContext
) -> PermissionResultAllow | PermissionResultDeny:
    if given["questions"] == [DATABASE]:
        return PermissionResultAllow(updated_input=with_answers(given))
    return PermissionResultDeny(message="Ana chose not to answer.")


def test_sdk_callback_answers_and_refuses(claude_with: WhichClaude) -> None:
    answered, refused = ask(DATABASE), ask(CACHE)
    claude = claude_with(answered, refused, "Thanks.")
    with claude.in_sdk(answer_or_refuse) as conversation:
        assert '"Which database?"="SQLite"' in claude.script.result_of(answered)
        assert claude.script.result_of(refused).text == "Ana chose not to answer."
        assert claude.script.result_of(refused).is_error
        assert conversation.result(PATIENCE_SECONDS)[-1].result == "Thanks."  # type: ignore[union-attr]


def test_person_answers_in_the_terminal(claude_with: WhichClaude) -> None:
    claude = claude_with(call := ask(DATABASE, TOPPINGS), "Thanks.")
    with claude.interactive() as terminal:
        terminal.wait_for("Which database?")
        terminal.choose("SQLite")
        terminal.wait_for("Which toppings?")
        for label in ("Cheese", "Olives", "Submit", "Submit answers"):
            terminal.choose(label)
        told = claude.script.result_of(call)
        assert '"Which database?"="SQLite"' in told
        assert '"Which toppings?"="Cheese, Olives"' in told
        terminal.wait_for("Thanks.")


def test_permission_hook_that_is_first_closes_the_dialog(claude_with: WhichClaude) -> None:
    dialog_is_open = Event()

    def answer(envelope: Json) -> Json:
        dialog_is_open.wait(PATIENCE_SECONDS)
        return allowed(envelope)

    with hook_server(answer) as server:
        settings = hook("PermissionRequest", type="http", url=server.url)
        claude = claude_with(call := ask(DATABASE), "Thanks.", settings=settings)
        with claude.interactive() as terminal:
            terminal.wait_for("Which database?")
            dialog_is_open.set()
            assert '"Which database?"="SQLite"' in claude.script.result_of(call)
            terminal.wait_for("Thanks.")
            terminal.wait_until_gone("Esc to cancel")


def test_person_at_the_terminal_is_faster_than_the_permission_hook(claude_with: WhichClaude) -> None:
    test_is_over = Event()

    def answer(envelope: Json) -> Json:
        test_is_over.wait(PATIENCE_SECONDS)
        return {}

    with hook_server(answer) as server:
        settings = hook("PermissionRequest", type="http", url=server.url)
        claude = claude_with(call := ask(DATABASE), settings=settings)
        with claude.interactive() as terminal:
            eventually(lambda: server.envelopes, PATIENCE_SECONDS)
            terminal.wait_for("Which database?")
            terminal.choose("PostgreSQL")
            assert '"Which database?"="PostgreSQL"' in claude.script.result_of(call)
        test_is_over.set()


def test_escape_stops_a_waiting_hook(claude_with: WhichClaude, tmp_path: Path) -> None:
    note = tmp_path / "note"
    settings = hook("PreToolUse", type="command", command=python(WAITING_COMMAND, str(note)))
    claude = claude_with(ask(DATABASE), settings=settings)
    with claude.interactive() as terminal:
        eventually(lambda: note.exists() and note.read_text() == "waiting", PATIENCE_SECONDS)
        terminal.press(ESCAPE)
        eventually(lambda: note.read_text() == "stopped")


def test_other_tools_do_their_work(claude_with: WhichClaude) -> None:
    claude = claude_with(call := Call("Bash", {"command": "echo $((6 * 7))", "description": "Count"}))
    with claude.running("--allowedTools", "Bash"):
        assert claude.script.result_of(call).text == "42"


def test_side_calls_take_no_turn(model: ScriptedModel) -> None:
    script = model.script("The one turn.")

    def say(**fields: Any) -> str:
        body = {"model": "any", "messages": [{"role": "user", "content": "Hello"}], **fields}
        request = Request(f"{script.base_url}/v1/messages?beta=true", json.dumps(body).encode())
        with urlopen(request) as response:
            return json.load(response)["content"][0]["text"]  # type: ignore[no-any-return]

    assert say() != "The one turn."
    assert say(tools=[{"name": "Bash"}]) == "The one turn."
