"""The decision about a tool call that asks people: allow it with answers, deny it, or leave it undecided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from bridge_client.claude_code.answer_text import quoted
from bridge_client.claude_code.answers import claude_annotations, claude_answers, prompts_of, question_texts
from bridge_client.claude_code.sentences import (
    DO_NOT_ASK_AGAIN,
    answers_in_words,
    answers_sentence,
    as_name,
    declined_sentence,
    default_sentence,
    expired_sentence,
    no_answer_sentence,
    no_answer_yet_sentence,
    withdrawn_sentence,
)
from bridge_client.errors import ProblemError
from bridge_client.results import Answered, Choice, Declined, Expired, Result, StillOpen


@dataclass(frozen=True)
class Allow:
    """People answered: the tool's input with their answers, and further context for the model."""

    updated_input: dict[str, Any]
    context: str


@dataclass(frozen=True)
class Deny:
    """A person declined or asked back; the message is for the model."""

    message: str


@dataclass(frozen=True)
class Undecided:
    """There is no decision; `reason` says why."""

    reason: str

    @property
    def message(self) -> str:
        """The text for a model that has no other person to ask."""
        return f"{self.reason}. {DO_NOT_ASK_AGAIN}"


Decision = Union[Allow, Deny, Undecided]

# For a server that stops while Claude Code waits in its HTTP hook, which Claude Code does not call again.
BRIDGE_STOPPED = Undecided("The bridge was stopped before the question was answered")


def decide(
    result: Result,
    tool_input: Mapping[str, Any],
    waited_seconds: float | None = None,
    *,
    repeats_answers: bool = False,
) -> Decision:
    """What a result means for the tool call with this input. Never an invented answer.

    With `repeats_answers` the context holds the answers as well, for a tool that may not know `answers`.
    """
    if isinstance(result, Declined):
        return Deny(declined_sentence(result))
    if isinstance(result, Answered):
        # The notes of several people contain their names already.
        name = result.names[0] if len(result.names) == 1 else ""
        remarks = [answers_sentence(result)] if repeats_answers else []
        return _allow(result, result.choices, tool_input, name, remarks)
    if isinstance(result, Expired) and result.default:
        remarks = [default_sentence(result)]
        if repeats_answers:
            remarks.append(answers_in_words(result.default, result.question))
        return _allow(result, result.default, tool_input, "", remarks)
    if isinstance(result, Expired) and (
        waited_seconds is None or result.question.ended == "no_agent_waiting"
    ):
        return Undecided(expired_sentence(result.question))
    if isinstance(result, (Expired, StillOpen)) and waited_seconds is not None:
        return Undecided(f"{no_answer_sentence(result.question)} within {waited_seconds:g} seconds")
    if isinstance(result, StillOpen):
        return Undecided(no_answer_yet_sentence(result.question))
    return Undecided(f"{withdrawn_sentence(result.question)} before it was answered")


def undecided_because(error: Exception) -> Undecided:
    """The decision if the question could not be asked, or its answer could not be fetched."""
    why = str(error).rstrip(".")
    if isinstance(error, ProblemError) and error.is_temporary:
        # Its detail says to try again. The client did so for as long as it could; the model must not.
        why = f"Its last reply was the error {error.code}"
    return Undecided(f"No answer could be fetched from the bridge. {why}")


def _allow(
    result: Result,
    choices: Sequence[Choice],
    tool_input: Mapping[str, Any],
    name: str,
    remarks: list[str],
) -> Decision:
    answers = claude_answers(choices, result.question.prompts or prompts_of(tool_input))
    if not answers:
        # The model would read an empty answer as "the user did not answer", which is not true.
        return Undecided("The answer was empty")
    updated = {**tool_input, "answers": answers}
    annotations = claude_annotations(choices, tool_input)
    if annotations:
        updated["annotations"] = annotations
    by = f" by {as_name(name)}" if name else ""
    remarks = [
        *remarks,
        *(
            f"There is no answer to {quoted(text)}."
            for text in question_texts(tool_input)
            if text not in answers
        ),
        *(
            f"Note{by} on {quoted(choice.question)}: {quoted(choice.notes)}"
            for choice in choices
            if choice.notes
        ),
    ]
    return Allow(updated, "\n".join(remarks))
