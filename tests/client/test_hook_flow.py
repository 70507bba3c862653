"""The flow of the Claude Code hook without I/O, as the command and the server both run it."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from bridge_client import Choice, Question
from bridge_client.claude_code.decisions import BRIDGE_STOPPED
from bridge_client.claude_code.hook import HookCall, Refusal, report

TOOL_INPUT = {"questions": [{"question": "Go on?", "options": [{"label": "Yes"}, {"label": "No"}]}]}


def envelope(event: str, **fields: Any) -> dict[str, Any]:
    sent = {
        "hook_event_name": event,
        "tool_name": "AskUserQuestion",
        "session_id": "session-1",
        "prompt_id": "prompt-1",
        "tool_input": TOOL_INPUT,
        **fields,
    }
    return sent if event == "PermissionRequest" else {"tool_use_id": "toolu_1", **sent}


def question(number: int = 1, **fields: Any) -> Question:
    data = {"id": f"q_{number}", "status": "open", **TOOL_INPUT, **fields}
    return Question.from_wire(data)


USED_UP = {"status": "answered", "delivered_at": "2026-01-01T00:00:00Z"}


def bodies_of(call: HookCall, *replies: Question) -> list[dict[str, Any]]:
    """What the call sends to ask, when these are the replies."""
    sent: list[dict[str, Any]] = []

    def send(body: dict[str, Any]) -> Question:
        sent.append(body)
        return replies[len(sent) - 1]

    assert call.ask(send, agent="Claude Code", context={"cwd": "/"}) is replies[len(sent) - 1]
    return sent


def test_a_request_whose_question_is_used_up_is_asked_again_with_a_new_id() -> None:
    call = HookCall(envelope("PermissionRequest"), 300)
    first, second = bodies_of(call, question(1, **USED_UP), question(2))
    assert second["tool_use_id"].startswith(f"{first['tool_use_id']}_")
    assert {**second, "tool_use_id": ""} == {**first, "tool_use_id": ""}


def test_a_tool_use_with_its_own_id_is_asked_once() -> None:
    (body,) = bodies_of(HookCall(envelope("PreToolUse"), 300), question(1, **USED_UP))
    assert body["tool_use_id"] == "toolu_1"


@pytest.mark.parametrize(("is_headless", "deadline", "wait"), [(False, None, 300), (True, 300, 310)])
def test_only_a_headless_question_has_a_deadline(
    is_headless: bool, deadline: float | None, wait: float
) -> None:
    call = HookCall(envelope("PreToolUse"), 300, is_headless)
    (body,) = bodies_of(call, question())
    assert body.get("timeout_seconds") == deadline
    assert call.wait_seconds == wait


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
def test_a_bridge_that_stops_leaves_the_question_to_the_terminal_or_tells_the_model(event: str) -> None:
    assert HookCall(envelope(event), 300).output(BRIDGE_STOPPED) is None
    told = HookCall(envelope(event), 300, is_headless=True).output(BRIDGE_STOPPED)
    assert told is not None
    text = json.dumps(told)
    assert "deny" in text
    assert "The bridge was stopped before the question was answered. Do not ask it again: go on" in text


@dataclass
class Room:
    """A room with one open question that refuses reports or takes them."""

    refusal: Refusal | None = None
    open_question: Question = field(default_factory=lambda: question(tool_use_id="toolu_1"))
    answers: list[Choice] = field(default_factory=list)
    is_withdrawn: bool = False

    def open_questions(self, session_id: str) -> list[Question]:
        return [self.open_question] if session_id == "session-1" else []

    def answer(self, question: Question, choices: list[Choice]) -> Refusal | None:
        self.answers = choices
        return self.refusal

    def withdraw(self, question: Question) -> None:
        self.is_withdrawn = True


ANSWERED = envelope("PostToolUse", tool_input={**TOOL_INPUT, "answers": {"Go on?": "Yes"}})


@pytest.mark.parametrize(
    ("refusal", "is_withdrawn", "is_asked_again"),
    [
        (None, False, False),
        (Refusal.SETTLED, False, False),
        (Refusal.MISSING_SCOPE, True, False),
        (Refusal.NEEDS_PEOPLE, True, True),
    ],
)
def test_a_report_withdraws_the_question_if_the_room_cannot_take_the_answer(
    refusal: Refusal | None, is_withdrawn: bool, is_asked_again: bool
) -> None:
    room = Room(refusal)
    output = report(ANSWERED, room)
    assert [choice.selected_options for choice in room.answers] == [["Yes"]]
    assert room.is_withdrawn is is_withdrawn
    assert (output is not None and output["decision"] == "block") is is_asked_again


@pytest.mark.parametrize(
    "sent",
    [
        envelope("PostToolUse"),
        {**ANSWERED, "session_id": "session-2"},
        {**ANSWERED, "tool_use_id": "toolu_2"},
    ],
)
def test_a_report_without_answers_or_for_another_tool_use_changes_nothing(sent: dict[str, Any]) -> None:
    room = Room()
    assert report(sent, room) is None
    assert room.answers == []
