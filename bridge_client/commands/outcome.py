"""The outcome of a question on the terminal: lines or JSON, and an exit code."""

from __future__ import annotations

from collections.abc import Sequence

from bridge_client.claude_code.sentences import (
    all_names,
    declined_sentence,
    expired_sentence,
    no_answer_sentence,
    no_answer_yet_sentence,
    withdrawn_sentence,
)
from bridge_client.commands import exits, terminal_text
from bridge_client.results import Answered, Choice, Declined, Expired, Result, StillOpen


def report(result: Result, *, as_json: bool) -> int:
    """Print answers to stdout and remarks to stderr; the exit code."""
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
    """One label per line; with several questions each line begins with its question."""
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
        late = f"{_lower_first(no_answer_sentence(result.question))} in time"
        if result.default:
            return f"{late}; this is the question's default", exits.OK
        if result.question.ended == "no_agent_waiting":
            return _lower_first(expired_sentence(result.question)), exits.EXPIRED
        return late, exits.EXPIRED
    if isinstance(result, StillOpen):
        why = _lower_first(no_answer_yet_sentence(result.question))
        return f"{why}; wait again with: ask-bridge wait {result.question.id}", exits.EXPIRED
    if result.question.ended in ("person", "room_archived"):
        return withdrawn_sentence(result.question), exits.WITHDRAWN
    return "the question was withdrawn", exits.WITHDRAWN


def _lower_first(sentence: str) -> str:
    """The sentence as printed after `ask-bridge: `."""
    return sentence[0].lower() + sentence[1:]
