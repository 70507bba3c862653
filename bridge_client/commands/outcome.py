"""What became of a question, for people and scripts: lines or JSON, and an exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from bridge_client import exits
from bridge_client.answers import declined_sentence
from bridge_client.results import Answered, Choice, Declined, Expired, Result, StillOpen


def report(result: Result, *, as_json: bool) -> int:
    """Answers to stdout, remarks to stderr."""
    if as_json:
        print(json.dumps(result.question.data, ensure_ascii=False))
    choices: Sequence[Choice] = ()
    if isinstance(result, Answered):
        choices = result.choices
    elif isinstance(result, Expired):
        choices = result.default
    if not as_json:
        _print_choices(choices)
    remark, code = _remark(result)
    if remark:
        print(f"ask-bridge: {remark}", file=sys.stderr)
    return code


def _print_choices(choices: Sequence[Choice]) -> None:
    """One label a line; with several questions each line begins with what it answers."""
    for choice in choices:
        which = f"{choice.header or choice.question}: " if len(choices) > 1 else ""
        for text in [*choice.selected_options, *([choice.custom_input] if choice.custom_input else [])]:
            print(f"{which}{text}")
        if choice.notes:
            print(f"ask-bridge: note: {choice.notes}", file=sys.stderr)


def _remark(result: Result) -> tuple[str, int]:
    if isinstance(result, Answered):
        return "", exits.OK
    if isinstance(result, Declined):
        return declined_sentence(result), exits.DECLINED
    if isinstance(result, Expired):
        if result.default:
            return "nobody answered in time; this is the question's default", exits.OK
        return "nobody answered in time", exits.EXPIRED
    if isinstance(result, StillOpen):
        return f"nobody has answered yet; go on with: ask-bridge wait {result.question.id}", exits.EXPIRED
    return "the question was withdrawn", exits.WITHDRAWN
