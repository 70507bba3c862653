"""What became of a question, for people and scripts: lines or JSON, and an exit code."""

from __future__ import annotations

from collections.abc import Sequence

from bridge_client.claude_code.sentences import (
    all_names,
    declined_sentence,
    expired_sentence,
    nobody_decided,
    nobody_decided_yet,
    withdrawn_sentence,
)
from bridge_client.commands import exits, terminal_text
from bridge_client.results import Answered, Choice, Declined, Expired, Result, StillOpen


def report(result: Result, *, as_json: bool) -> int:
    """Answers to stdout, remarks to stderr."""
    if as_json:
        terminal_text.write_json(result.question.data)
    choices: Sequence[Choice] = ()
    if isinstance(result, Answered):
        choices = result.choices
    elif isinstance(result, Expired):
        choices = result.default
    if not as_json:
        _print_choices(choices)
    remark, code = _remark(result)
    if remark:
        terminal_text.remark(remark)
    return code


def _print_choices(choices: Sequence[Choice]) -> None:
    """One label a line; with several questions each line begins with what it answers."""
    for choice in choices:
        which = f"{choice.header or choice.question}: " if len(choices) > 1 else ""
        for text in [*choice.selected_options, *([choice.custom_input] if choice.custom_input else [])]:
            terminal_text.write(f"{which}{text}")
        if choice.notes:
            terminal_text.remark(f"note: {choice.notes}")


def _remark(result: Result) -> tuple[str, int]:
    if isinstance(result, Answered):
        names = result.names
        return f"decided by {all_names(names)}" if len(names) > 1 else "", exits.OK
    if isinstance(result, Declined):
        return declined_sentence(result), exits.DECLINED
    if isinstance(result, Expired):
        late = f"{_small(nobody_decided(result.question))} in time"
        if result.default:
            return f"{late}; this is the question's default", exits.OK
        if result.question.ended == "no_agent_waiting":
            return _small(expired_sentence(result.question)), exits.EXPIRED
        return late, exits.EXPIRED
    if isinstance(result, StillOpen):
        why = _small(nobody_decided_yet(result.question))
        return f"{why}; go on with: ask-bridge wait {result.question.id}", exits.EXPIRED
    if result.question.ended in ("person", "room_archived"):
        return withdrawn_sentence(result.question), exits.WITHDRAWN
    return "the question was withdrawn", exits.WITHDRAWN


def _small(sentence: str) -> str:
    """For behind the name of the program."""
    return sentence[0].lower() + sentence[1:]
