"""Replies to Claude Code's permission prompts, the same over MCP and stream-json."""

from __future__ import annotations

from typing import Any

from bridge_client.claude_code.decisions import Allow, Decision, Deny


def permission(decision: Decision) -> dict[str, Any]:
    """The decision in Claude Code's format; without one, a denial with the reason."""
    if isinstance(decision, Allow):
        return {"behavior": "allow", "updatedInput": decision.updated_input}
    return {"behavior": "deny", "message": decision.message}


def other_tool(tool_name: str, tool_input: dict[str, Any], *, is_allowed: bool) -> Decision:
    """The decision about a tool that asks people nothing."""
    if is_allowed:
        return Allow(tool_input, "")
    return Deny(
        f"{tool_name} is not allowed here: ask-bridge answers questions and approves no other tool unless it "
        "was started with --others allow. Do not try it again: go on without it, or stop and say so."
    )
