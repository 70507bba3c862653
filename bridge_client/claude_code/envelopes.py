"""Envelopes: the JSON that Claude Code sends to a hook, and the output that it expects. Pure functions.

PreToolUse blocks the tool call, PermissionRequest runs beside the terminal's dialog, PostToolUse after it.
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
# In older clients and programs on the Agent SDK: one question at the top level, without `questions`.
FOLLOW_UP_TOOL = "AskFollowupQuestion"
TOOLS = (TOOL, FOLLOW_UP_TOOL)
# Both, in the syntax of Claude Code's settings.
MATCHER = "|".join(TOOLS)
AGENT = "Claude Code"
EVENTS = ("PreToolUse", "PermissionRequest", "PostToolUse")


class Asked(Protocol):
    """An object with the id of the tool use for which it was asked."""

    @property
    def tool_use_id(self) -> str: ...


AskedQuestion = TypeVar("AskedQuestion", bound=Asked)


def is_about_questions(envelope: Mapping[str, Any]) -> bool:
    """Whether this is one of the three events around a tool that asks people."""
    return envelope.get("tool_name") in TOOLS and envelope.get("hook_event_name") in EVENTS


def problem_with(envelope: Any) -> str:
    """Why the hook cannot work with this envelope; empty if it can, or if the envelope is not for it.

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
    """Whether the tool may not know `answers`, so that the model needs them as context as well."""
    return envelope.get("tool_name") == FOLLOW_UP_TOOL


def is_report(envelope: Mapping[str, Any]) -> bool:
    """Whether the tool has run: there is nothing to decide, only an answer to report."""
    return envelope.get("hook_event_name") == "PostToolUse"


def tool_input(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """The input of the tool call: its questions, and after the call its answers."""
    return _object(envelope.get("tool_input"))


def session_id(envelope: Mapping[str, Any]) -> str:
    return str(envelope.get("session_id") or "")


def tool_use_id(envelope: Mapping[str, Any]) -> str:
    """The id of the tool use, or a derived one that stays the same when PermissionRequest comes again."""
    return derived_tool_use_id(envelope) if has_derived_id(envelope) else str(envelope["tool_use_id"])


def has_derived_id(envelope: Mapping[str, Any]) -> bool:
    """Whether the envelope has no id of its own: PermissionRequest does not name its tool use."""
    return envelope.get("hook_event_name") == "PermissionRequest" or not envelope.get("tool_use_id")


def derived_tool_use_id(envelope: Mapping[str, Any]) -> str:
    """A stable id for an envelope without one: a hash of session, prompt and questions."""
    # Imported here because a PreToolUse hook starts faster without it.
    from hashlib import sha256

    parts = [envelope.get("session_id"), envelope.get("prompt_id"), questions_of(tool_input(envelope))]
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return f"prompt_{sha256(text.encode()).hexdigest()[:40]}"


def next_tool_use_id(envelope: Mapping[str, Any]) -> str:
    """A new id for an envelope whose derived id belongs to a used-up question: people decide again.

    Otherwise the first answer to "Go on with the next file?" would answer all later ones.
    """
    return f"{derived_tool_use_id(envelope)}_{os.urandom(8).hex()}"


# ---- output ----------------------------------------------------------------------------------------------


def output(event: str, decision: Decision, is_headless: bool = False) -> dict[str, Any] | None:
    """The decision in the output format of the event; None leaves it to the terminal's dialog."""
    if isinstance(decision, Undecided):
        if not is_headless:
            return None
        decision = Deny(decision.message)
    fields = _permission_request(decision) if event == "PermissionRequest" else _pre_tool_use(decision)
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def _pre_tool_use(decision: Allow | Deny) -> dict[str, Any]:
    if isinstance(decision, Deny):
        return {"permissionDecision": "deny", "permissionDecisionReason": decision.message}
    context = {"additionalContext": decision.context} if decision.context else {}
    return {"permissionDecision": "allow", "updatedInput": decision.updated_input, **context}


def _permission_request(decision: Allow | Deny) -> dict[str, Any]:
    if isinstance(decision, Deny):
        return {"decision": {"behavior": "deny", "message": decision.message}}
    return {"decision": {"behavior": "allow", "updatedInput": decision.updated_input}}


# ---- reports ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReportedAnswers:
    """The answers from the terminal in Claude's format; empty if there are none."""

    answers: dict[str, Any]
    annotations: dict[str, Any]


def ask_again_output() -> dict[str, Any]:
    """The output when the terminal answered a question that particular people have to decide."""
    return {
        "decision": "block",
        "reason": "Particular people have to decide this question in its room, so the answer that was given "
        "in the terminal does not count. Do not act on it: ask the same question again with the same tool "
        "and wait.",
    }


def reported_answers(envelope: Mapping[str, Any]) -> ReportedAnswers:
    """The answers in the tool's input, or else in its response."""
    sources = [tool_input(envelope), _object(envelope.get("tool_response"))]
    answers, annotations = (
        next((found for found in (_object(each.get(name)) for each in sources) if found), {})
        for name in ("answers", "annotations")
    )
    return ReportedAnswers(answers, annotations)


def question_of(envelope: Mapping[str, Any], open_questions: Iterable[AskedQuestion]) -> AskedQuestion | None:
    """The open question of exactly this tool use; one with the same text only is left to people."""
    own, derived = str(envelope.get("tool_use_id") or ""), derived_tool_use_id(envelope)
    for question in open_questions:
        # A repeated request within one prompt has the derived id and a random suffix.
        if question.tool_use_id in (own, derived) or question.tool_use_id.startswith(f"{derived}_"):
            return question
    return None


def _object(value: Any) -> dict[str, Any]:
    """The value if it is an object or the JSON text of one; anything else is empty."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}
