"""Sentences about the end of a question, in commands and MCP results."""

from typing import Any

import pytest

from bridge_client import (
    Expired,
    Question,
    Withdrawn,
)
from bridge_client.commands import exits
from bridge_client.commands.outcome import report
from bridge_client.mcp.results import outcome_of


def ended(reason: str, by: "dict[str, str] | None" = None) -> Question:
    return Question({"ended": {"reason": reason, "by": by}}, "q_1", "")


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (Expired(ended("no_agent_waiting"), []), "no agent was waiting for it any more"),
        (Withdrawn(ended("person", {"username": "ana", "name": "Ana Costa"})), "Ana Costa withdrew"),
    ],
)
def test_commands_and_mcp_say_why_a_question_ended(
    result: Any, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(result, as_json=False) in (exits.EXPIRED, exits.WITHDRAWN)
    assert words in capsys.readouterr().err
    assert words in outcome_of(result).text
