"""Claude Code's permission prompts, the same over MCP and stream-json: yes and an input, or no and why."""

from __future__ import annotations

from typing import Any

from bridge_client.claude_code.decisions import Allow, Decision, Deny


def permission(decision: Decision) -> dict[str, Any]:
    """The decision as Claude Code wants it; where nobody decided, the model is told so."""
    if isinstance(decision, Allow):
        return {"behavior": "allow", "updatedInput": decision.updated_input}
    return {"behavior": "deny", "message": decision.message}


def other_tool(tool_name: str, tool_input: dict[str, Any], *, is_allowed: bool) -> Decision:
    """What is said about a tool that asks nobody anything."""
    if is_allowed:
        return Allow(tool_input, "")
    return Deny(
        f"{tool_name} is not allowed here: ask-bridge answers questions and approves no other tool unless it "
        "was started with --others allow. Do not try it again: go on without it, or stop and say so."
    )
