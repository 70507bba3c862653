"""Claude Code's HTTP hook, as any program could post it; the real client does so in tests/agents."""

import json
from typing import Any

import pytest

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.people import Person
from tests.harness.timing import eventually

QUESTIONS = [
    {
        "question": "Which database?",
        "header": "Database",
        "multiSelect": False,
        "options": [{"label": "PostgreSQL", "description": "a"}, {"label": "SQLite", "description": "b"}],
    }
]


def envelope(event: str = "PreToolUse", **fields: Any) -> dict[str, Any]:
    return {
        "hook_event_name": event,
        "session_id": "session-1",
        "tool_use_id": "toolu_1",
        "prompt_id": "prompt-1",
        "cwd": "/srv/shop",
        "tool_name": "AskUserQuestion",
        "tool_input": {"questions": QUESTIONS},
        **fields,
    }


def path(agent: Agent, query: str = "") -> str:
    return f"{agent.path}/hooks/claude-code{query}"


def the_question(agent: Agent) -> Any:
    return eventually(lambda: next((q for q in agent.open_questions() if q["agent"]["active"]), None))


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
def test_the_answer_comes_back_as_the_output_of_the_hook(agent: Agent, person: Person, event: str) -> None:
    with agent.background("POST", path(agent), envelope(event)) as hook:
        asked = the_question(agent)
        assert asked["agent"]["name"] == "Claude Code"
        assert asked["context"] == {"cwd": "/srv/shop"}
        person.answer(asked, "SQLite")
        output = hook.result(timeout=1)["hookSpecificOutput"]
    assert output["hookEventName"] == event
    updated = (output if event == "PreToolUse" else output["decision"])["updatedInput"]
    assert updated == {"questions": QUESTIONS, "answers": {"Which database?": "SQLite"}}
    eventually(lambda: agent.read(asked["id"])["delivered_at"])


def test_a_skip_is_a_denial_with_its_reason(agent: Agent, person: Person) -> None:
    with agent.background("POST", path(agent), envelope()) as hook:
        person.skip(the_question(agent), "Not today")
        output = hook.result()["hookSpecificOutput"]
    assert output["permissionDecision"] == "deny"
    assert output["permissionDecisionReason"] == 'Ana Costa chose not to answer: "Not today"'


def test_a_reply_is_a_denial_that_asks_back(agent: Agent, person: Person) -> None:
    with agent.background("POST", path(agent), envelope()) as hook:
        asked = the_question(agent)
        person.ask_back(asked, "How large?")
        output = hook.result()["hookSpecificOutput"]
    assert output["permissionDecision"] == "deny"
    assert output["permissionDecisionReason"] == (
        'Ana Costa asks back instead of choosing: "How large?". Answer that in your next message, '
        "and ask the question again if it is still open."
    )
    eventually(lambda: agent.read(asked["id"])["delivered_at"])


def test_no_answer_in_time_leaves_everything_as_it_was(agent: Agent) -> None:
    assert agent.call("POST", path(agent, "?timeout=0.3"), envelope()).json() == {}
    assert [question["status"] for question in agent.open_questions()] == ["open"]


def test_no_answer_in_time_is_said_to_a_model_that_can_ask_no_one_else(agent: Agent) -> None:
    reply = agent.call("POST", path(agent, "?timeout=0.3&headless=1"), envelope())
    output = reply.json()["hookSpecificOutput"]
    assert output["permissionDecision"] == "deny"
    assert "Nobody answered within 0.3 seconds" in output["permissionDecisionReason"]
    assert agent.open_questions() == []
    (question,) = agent.questions("expired")
    eventually(lambda: agent.read(question["id"])["delivered_at"])


def test_without_a_terminal_no_time_at_all_is_no_answer(agent: Agent) -> None:
    reply = agent.call("POST", path(agent, "?timeout=0&headless=1"), envelope())
    assert reply.json()["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert len(agent.questions("expired")) == 1


def test_the_same_tool_use_is_asked_once_and_has_its_answer_later(agent: Agent, person: Person) -> None:
    agent.call("POST", path(agent, "?timeout=0.1"), envelope())
    person.answer(agent.open_questions()[0], "PostgreSQL")
    output = agent.call("POST", path(agent), envelope()).json()["hookSpecificOutput"]
    assert output["updatedInput"]["answers"] == {"Which database?": "PostgreSQL"}


def test_the_terminal_closes_the_card_and_ends_the_wait_beside_it(agent: Agent) -> None:
    answered = {"questions": QUESTIONS, "answers": {"Which database?": "SQLite"}}
    with agent.background("POST", path(agent), envelope("PermissionRequest")) as hook:
        asked = the_question(agent)
        report = envelope("PostToolUse", tool_input=answered)
        assert agent.call("POST", path(agent), report).json() == {}
        assert hook.reply(timeout=1).status == 200
    settled = agent.read(asked["id"])
    assert (settled["status"], settled["answer"]["via"]) == ("answered", "terminal")
    assert agent.call("POST", path(agent), report).json() == {}


def test_only_the_key_that_asked_and_may_report_closes_the_card(bridge: Bridge, agent: Agent) -> None:
    answered = {"questions": QUESTIONS, "answers": {"Which database?": "SQLite"}}
    report = envelope("PostToolUse", tool_input=answered)
    strict = bridge.agent_with(agent, "ask")
    asked = strict.ask(questions=QUESTIONS, session_id="session-1", tool_use_id="toolu_1")
    for bot, code in ((strict, "missing_scope"), (agent, "not_own_question")):
        refused = bot.call("POST", path(bot), report)
        assert (refused.status, refused.json()["code"]) == (403, code)
    assert agent.read(asked["id"])["status"] == "open"


def test_key_that_may_not_ask_cannot_ask_by_the_hook_or_wait(bridge: Bridge, agent: Agent) -> None:
    bot = bridge.agent_with(agent, "answer")
    asked = agent.ask()
    for refused in (
        bot.call("POST", path(bot), envelope()),
        bot.call("POST", f"{bot.path}/questions?wait=1", bot.question_body()),
        bot.call("GET", f"/api/v1/questions/{asked['id']}?wait=1"),
    ):
        assert (refused.status, refused.json()["code"]) == (403, "missing_scope")
    (question,) = agent.open_questions()
    assert not question["agent"]["active"]


def test_the_terminal_cannot_decide_for_people_and_claude_is_told_to_ask_again(agent: Agent) -> None:
    asked = agent.ask(questions=QUESTIONS, session_id="session-1", tool_use_id="toolu_1", care={"votes": 2})
    answered = {"questions": QUESTIONS, "answers": {"Which database?": "SQLite"}}
    told = agent.call("POST", path(agent), envelope("PostToolUse", tool_input=answered)).json()
    assert told["decision"] == "block"
    assert "ask the same question again" in told["reason"]
    assert agent.read(asked["id"])["status"] == "withdrawn"


def test_a_client_that_hangs_up_stops_waiting_at_once(agent: Agent) -> None:
    with agent.background("POST", path(agent), envelope()) as hook:
        asked = the_question(agent)
        hook.hang_up()
        eventually(lambda: not agent.read(asked["id"])["agent"]["active"], seconds=2)


def test_other_tools_and_events_pass_by(agent: Agent) -> None:
    for passing in (envelope(tool_name="Bash"), envelope("SessionStart"), {"hook_event_name": "Stop"}):
        assert agent.call("POST", path(agent), passing).json() == {}
    assert agent.open_questions() == []


def test_a_silent_wait_sends_blanks_that_keep_proxies_patient(agent: Agent, person: Person) -> None:
    with agent.background("POST", path(agent), envelope()) as hook:
        asked = the_question(agent)
        eventually(lambda: hook.has_begun, seconds=20)
        person.answer(asked, "SQLite")
        reply = hook.reply()
    assert reply.text.startswith(" ")
    assert reply.json()["hookSpecificOutput"]["permissionDecision"] == "allow"


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
    "an empty object": {},
    "a list": [],
    "a text": "PreToolUse",
    "nothing": None,
    "no tool": envelope(tool_name=None),
    "a form": envelope(tool_input=FORM),
    "a form beside a dialog": envelope("PermissionRequest", tool_input=FORM),
    "a form without a terminal": envelope(tool_input=FORM),
    "no input": envelope(tool_input={}),
    "a number as input": envelope(tool_input=7),
    "no questions": envelope(tool_input={"questions": []}),
    "one option": envelope(tool_input={"questions": [{"question": "Go on?", "options": ["Yes"]}]}),
    "five options": envelope(tool_input={"questions": [{"question": "Which?", "options": list("ABCDE")}]}),
    "an answer that cannot be stored": envelope(
        "PostToolUse", tool_input={"questions": QUESTIONS, "answers": {"Which database?": "\ud800"}}
    ),
}


@pytest.mark.parametrize("body", NOT_UNDERSTOOD.values(), ids=NOT_UNDERSTOOD.keys())
def test_an_envelope_that_is_not_understood_breaks_no_agent(agent: Agent, body: Any) -> None:
    if isinstance(body, dict) and body.get("hook_event_name") == "PostToolUse":
        agent.ask(questions=QUESTIONS, session_id="session-1", tool_use_id="toolu_1")
    before = agent.open_questions()
    query = "?headless=1" if body == NOT_UNDERSTOOD["a form without a terminal"] else ""
    reply = agent.site.request("POST", path(agent, query), body=json.dumps(body), headers=agent.headers())
    assert (reply.status, reply.json()) == (200, {})
    assert agent.open_questions() == before


@pytest.mark.parametrize("body", [b"", b"not json", b'{"hook_event_name": '])
def test_what_is_no_json_breaks_no_agent(agent: Agent, body: bytes) -> None:
    reply = agent.site.request("POST", path(agent), body=body, headers=agent.headers())
    assert (reply.status, reply.json()) == (200, {})


def test_without_a_terminal_the_model_is_told_why_its_question_was_refused(agent: Agent) -> None:
    reply = agent.call("POST", path(agent, "?headless=1"), NOT_UNDERSTOOD["one option"])
    assert reply.status == 200
    output = reply.json()["hookSpecificOutput"]
    assert output["permissionDecision"] == "deny"
    assert "needs 2 to 4 options, got 1" in output["permissionDecisionReason"]


FOLLOW_UP = {"question": "Which colour?", "options": ["Red", "Blue, dark"]}


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
def test_a_follow_up_question_is_asked_and_answered(agent: Agent, person: Person, event: str) -> None:
    asked = envelope(event, tool_name="AskFollowupQuestion", tool_input=FOLLOW_UP)
    with agent.background("POST", path(agent), asked) as hook:
        question = the_question(agent)
        assert [prompt["question"] for prompt in question["questions"]] == ["Which colour?"]
        person.answer(question, "Blue, dark")
        output = hook.result(timeout=1)["hookSpecificOutput"]
    updated = (output if event == "PreToolUse" else output["decision"])["updatedInput"]
    assert updated == {**FOLLOW_UP, "answers": {"Which colour?": "Blue, dark"}}
    if event == "PreToolUse":
        assert output["additionalContext"] == 'Ana Costa answered: "Which colour?" = Blue, dark'


def test_keys_count_as_everywhere(agent: Agent, stranger: Agent) -> None:
    assert agent.call("POST", path(agent), envelope(), key="").status == 401
    assert agent.call("POST", path(agent), envelope(), key=stranger.key).status == 404
    assert agent.call("GET", path(agent)).status == 405
    assert agent.call("POST", path(agent, "?timeout=soon"), envelope()).status == 422


def test_an_answer_to_one_call_does_not_close_another_that_asks_the_same(
    agent: Agent, person: Person
) -> None:
    first, second = envelope(), envelope(tool_use_id="toolu_2")
    with agent.background("POST", path(agent), first) as one, agent.background("POST", path(agent), second):
        cards = eventually(lambda: len(found := agent.open_questions()) == 2 and found)
        card = next(card for card in cards if card["tool_use_id"] == "toolu_1")
        person.answer(card, "SQLite")
        answered = one.result()["hookSpecificOutput"]["updatedInput"]
        report = envelope("PostToolUse", tool_input=answered)
        assert agent.call("POST", path(agent), report).json() == {}
        assert [card["tool_use_id"] for card in agent.open_questions()] == ["toolu_2"]


def test_no_answer_in_time_is_the_end_of_the_wait(agent: Agent) -> None:
    agent.call("POST", path(agent, "?timeout=0.2"), envelope())
    eventually(lambda: not agent.open_questions()[0]["agent"]["active"], seconds=2)


def test_a_folder_of_any_length_is_no_reason_not_to_ask(agent: Agent) -> None:
    assert agent.call("POST", path(agent, "?timeout=0"), envelope(cwd="/x" * 5000)).status == 200
    assert len(agent.open_questions()[0]["context"]["cwd"]) == 1000
