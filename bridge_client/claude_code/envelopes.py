"""What Claude Code's hooks send and want back: pure functions, for our command and for the bridge itself.

PreToolUse blocks the call, PermissionRequest runs beside the terminal's dialog, PostToolUse comes after it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from bridge_client.claude_code.answers import questions_of
from bridge_client.claude_code.decisions import Allow, Decision, Deny, Undecided

TOOL = "AskUserQuestion"
# Of older clients and of programs on the Agent SDK: one question at the top level, without `questions`.
FOLLOW_UP_TOOL = "AskFollowupQuestion"
TOOLS = (TOOL, FOLLOW_UP_TOOL)
# As Claude Code's settings name both in one hook.
MATCHER = "|".join(TOOLS)
AGENT = "Claude Code"
EVENTS = ("PreToolUse", "PermissionRequest", "PostToolUse")


class Asked(Protocol):
    """Anything that knows for which tool use it was asked."""

    @property
    def tool_use_id(self) -> str: ...


AskedQuestion = TypeVar("AskedQuestion", bound=Asked)


def is_about_questions(envelope: Mapping[str, Any]) -> bool:
    """One of the three events that we know, around a tool that asks people."""
    return envelope.get("tool_name") in TOOLS and envelope.get("hook_event_name") in EVENTS


def problem_with(envelope: Any) -> str:
    """Why this is no envelope that the hook can work with; empty for one that it can, or that passes by.

    Other agents run the hooks of Claude Code as well, and deny their own tool when a hook fails: GitHub
    Copilot CLI sends a form under the name AskUserQuestion. What is not understood must never be an error.
    """
    if not isinstance(envelope, dict):
        return "it is not a JSON object"
    if not isinstance(envelope.get("hook_event_name"), str):
        return "it has no hook_event_name"
    if envelope["hook_event_name"] in EVENTS and not isinstance(envelope.get("tool_name"), str):
        return "it has no tool_name"
    if is_about_questions(envelope) and not is_report(envelope) and not questions_of(tool_input(envelope)):
        return f"the tool_input of this {envelope['tool_name']} holds no questions"
    return ""


def may_lack_answers(envelope: Mapping[str, Any]) -> bool:
    """Whether the schema of the tool may lack `answers`, so that the model has to be told beside it."""
    return envelope.get("tool_name") == FOLLOW_UP_TOOL


def is_report(envelope: Mapping[str, Any]) -> bool:
    """The tool has run: nothing to decide any more, only to tell."""
    return envelope.get("hook_event_name") == "PostToolUse"


def tool_input(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """The call's own input: its questions, and afterwards its answers."""
    return _object(envelope.get("tool_input"))


def session_id(envelope: Mapping[str, Any]) -> str:
    return str(envelope.get("session_id") or "")


def tool_use_id(envelope: Mapping[str, Any]) -> str:
    """The call's own id, or one made of what stays the same when PermissionRequest comes again."""
    return derived_tool_use_id(envelope) if has_derived_id(envelope) else str(envelope["tool_use_id"])


def has_derived_id(envelope: Mapping[str, Any]) -> bool:
    """PermissionRequest does not say which call it is about."""
    return envelope.get("hook_event_name") == "PermissionRequest" or not envelope.get("tool_use_id")


def derived_tool_use_id(envelope: Mapping[str, Any]) -> str:
    """What stands for the id that PermissionRequest does not have."""
    # Not at the top: a PreToolUse hook starts without it.
    from hashlib import sha256

    parts = [envelope.get("session_id"), envelope.get("prompt_id"), questions_of(tool_input(envelope))]
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return f"prompt_{sha256(text.encode()).hexdigest()[:40]}"


def next_tool_use_id(envelope: Mapping[str, Any]) -> str:
    """For a derived id whose question is used up: the agent asks the same once more, and people decide anew.

    Otherwise "Go on with the next file?" would be answered once by a person and from then on by nobody.
    """
    return f"{derived_tool_use_id(envelope)}_{os.urandom(8).hex()}"


# ---- the way back ----------------------------------------------------------------------------------------


def output(event: str, decision: Decision, is_headless: bool = False) -> dict[str, Any] | None:
    """The decision in the event's own format; None lets the terminal's dialog take over."""
    if isinstance(decision, Undecided):
        if not is_headless:
            return None
        decision = Deny(decision.message)
    said = _permission_request(decision) if event == "PermissionRequest" else _pre_tool_use(decision)
    return {"hookSpecificOutput": {"hookEventName": event, **said}}


def _pre_tool_use(decision: Allow | Deny) -> dict[str, Any]:
    if isinstance(decision, Deny):
        return {"permissionDecision": "deny", "permissionDecisionReason": decision.message}
    said = {"additionalContext": decision.context} if decision.context else {}
    return {"permissionDecision": "allow", "updatedInput": decision.updated_input, **said}


def _permission_request(decision: Allow | Deny) -> dict[str, Any]:
    if isinstance(decision, Deny):
        return {"decision": {"behavior": "deny", "message": decision.message}}
    return {"decision": {"behavior": "allow", "updatedInput": decision.updated_input}}


# ---- after the answer ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReportedAnswers:
    """What was answered in the terminal, in Claude's words; empty if nothing was."""

    answers: dict[str, Any]
    annotations: dict[str, Any]


def ask_again_output() -> dict[str, Any]:
    """What Claude Code is told when the terminal answered what particular people have to decide."""
    return {
        "decision": "block",
        "reason": "Particular people have to decide this question in its room, so the answer that was given "
        "in the terminal does not count. Do not act on it: ask the same question again with the same tool "
        "and wait.",
    }


def reported_answers(envelope: Mapping[str, Any]) -> ReportedAnswers:
    """From the tool's input or its response, whichever has them."""
    told = [tool_input(envelope), _object(envelope.get("tool_response"))]
    answers, annotations = (
        next((found for found in (_object(each.get(name)) for each in told) if found), {})
        for name in ("answers", "annotations")
    )
    return ReportedAnswers(answers, annotations)


def question_of(envelope: Mapping[str, Any], open_questions: Iterable[AskedQuestion]) -> AskedQuestion | None:
    """The open question of exactly this tool use; one that only looks the same is left to people."""
    own, derived = str(envelope.get("tool_use_id") or ""), derived_tool_use_id(envelope)
    for question in open_questions:
        # The same request once more in one prompt has the derived id with something behind it.
        if question.tool_use_id in (own, derived) or question.tool_use_id.startswith(f"{derived}_"):
            return question
    return None


def _object(value: Any) -> dict[str, Any]:
    """An object, also one that was sent as a text of JSON; anything else is empty."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}
