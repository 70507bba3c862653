"""Between our answers and Claude's: one string per question there, lists of labels here.

What people wrote stands in quotes in every sentence for the model, on one line and with escapes, so that no
text can look like another note, another answer or the words of another person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from bridge_client.claude_code.answer_text import SEPARATOR, UNSEEN, decode, encode, quoted
from bridge_client.results import Answered, AskedBack, Choice, Declined, Expired, Question, Result, StillOpen

# What a question at the top level of a tool's input may have, options under each of their names.
PROMPT_FIELDS = (
    *("question", "header", "multiSelect", "multi_select"),
    *("options", "follow_up", "followUp", "suggestions", "choices"),
)

# A model that is told only "no answer" asks again, and again.
DO_NOT_ASK_AGAIN = (
    "Do not ask it again: go on with what you can decide yourself, or stop and say what you need."
)
NOBODY_YET = "Nobody has answered yet"
NOT_ANSWERED_THERE = "(not answered in the terminal)"
# What the server takes of a text of one's own and of a note.
FREE_TEXT_LENGTH = 4_000


@dataclass(frozen=True)
class Allow:
    """There are answers: the tool's input with them in it, and what the model should know beside them."""

    updated_input: dict[str, Any]
    context: str


@dataclass(frozen=True)
class Deny:
    """A person chose nothing, or asks back; the message is for the model."""

    message: str


@dataclass(frozen=True)
class Undecided:
    """Nobody decided anything, and why."""

    reason: str

    @property
    def message(self) -> str:
        """For a model that has nobody else to ask."""
        return f"{self.reason}. {DO_NOT_ASK_AGAIN}"


Decision = Union[Allow, Deny, Undecided]


def decide(
    result: Result,
    tool_input: Mapping[str, Any],
    waited_seconds: float | None = None,
    *,
    repeats_answers: bool = False,
) -> Decision:
    """What a result means for the call with this input. Never an invented answer.

    With `repeats_answers` the context has the answers as well, for a tool that may not know `answers`.
    """
    if isinstance(result, Declined):
        return Deny(declined_sentence(result))
    if isinstance(result, Answered):
        # Notes of several people have their names in them already.
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
        return Undecided(f"{nobody_decided(result.question)} within {waited_seconds:g} seconds")
    if isinstance(result, StillOpen):
        return Undecided(nobody_decided_yet(result.question))
    return Undecided(f"{withdrawn_sentence(result.question)} before it was answered")


def undecided_because(error: Exception) -> Undecided:
    """The question could not be asked, or its answer not be fetched."""
    return Undecided(f"No answer could be fetched from the bridge. {str(error).rstrip('.')}")


def nobody_decided(question: Question) -> str:
    """Why there is no answer, for a sentence that goes on with the time that people had."""
    return "Too few people agreed" if question.is_voted_on else "Nobody answered"


def nobody_decided_yet(question: Question) -> str:
    """Why there is no answer so far."""
    return "Too few people agree so far" if question.is_voted_on else NOBODY_YET


def expired_sentence(question: Question) -> str:
    """Why the question ended without an answer and without its default."""
    if question.ended == "no_agent_waiting":
        return "The question was closed without an answer, because no agent was waiting for it any more"
    return f"{nobody_decided(question)} before the question's deadline"


def withdrawn_sentence(question: Question) -> str:
    """Who took the question back, for a sentence that goes on."""
    if question.ended == "room_archived":
        return "The question was closed with its room"
    if question.ended == "person":
        name = question.ended_by.name if question.ended_by else "A person"
        return f"{name} withdrew the question"
    return "The question was taken back"


def default_sentence(result: Expired) -> str:
    return (
        f"{nobody_decided(result.question)} in time. "
        "These are the defaults that the question named, not a person's choice."
    )


def as_name(name: str) -> str:
    """A name as it is, or in quotes if it could be taken for several names or for a part of the sentence."""
    is_odd = UNSEEN.search(name) or any(sign in name for sign in ('"', ":", ",", " and "))
    return quoted(name) if is_odd else name


def answers_sentence(result: Answered) -> str:
    """Who answered what, for a model that may not be told by the tool itself."""
    names = all_names(result.names or ["Somebody"])
    return f"{names} answered: {answers_in_words(result.choices, result.question)}"


def answers_in_words(choices: Sequence[Choice], question: Question) -> str:
    """`"Which database?" = SQLite; "Which checks?" = Unit, Browser`."""
    answers = claude_answers(choices, question.prompts)
    return "; ".join(f"{quoted(text)} = {answer}" for text, answer in answers.items())


def all_names(names: Sequence[str]) -> str:
    """`Ana, Ben and Cleo`."""
    *others, last = [as_name(name) for name in names]
    return f"{', '.join(others)} and {last}" if others else last


def declined_sentence(result: Declined) -> str:
    """Who did not choose, and why; somebody who asks back waits for an answer and is asked again."""
    name = as_name(result.by.name) if result.by else "Somebody"
    if isinstance(result, AskedBack):
        return (
            f"{name} asks back instead of choosing: {quoted(result.reason)}. Answer that in your next "
            "message, and ask the question again if it is still open."
        )
    if result.reason:
        return f"{name} chose not to answer: {quoted(result.reason)}"
    return f"{name} chose not to answer."


def _allow(
    result: Result,
    choices: Sequence[Choice],
    tool_input: Mapping[str, Any],
    name: str,
    remarks: list[str],
) -> Decision:
    answers = claude_answers(choices, result.question.prompts or prompts_of(tool_input))
    if not answers:
        # Sent on, it would read as "the user did not answer": nobody said that.
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


def claude_answers(choices: Sequence[Choice], prompts: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """`{question: "label"}`, labels and Other's text in one string; what has neither is left out."""
    by_text = {str(prompt.get("question", "")): prompt for prompt in prompts}
    answers = {
        choice.question: encode(
            by_text.get(choice.question, {}), choice.selected_options, choice.custom_input
        )
        for choice in choices
    }
    return {question: answer for question, answer in answers.items() if answer}


def claude_annotations(choices: Sequence[Choice], tool_input: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Notes, and the preview of the option that was chosen, as Claude's own dialog adds them."""
    annotations = {}
    for choice in choices:
        notes = quoted(choice.notes) if choice.notes else ""
        found = {"preview": _preview(choice, tool_input), "notes": notes}
        if any(found.values()):
            annotations[choice.question] = {name: text for name, text in found.items() if text}
    return annotations


def _preview(choice: Choice, tool_input: Mapping[str, Any]) -> str:
    if len(choice.selected_options) != 1:
        return ""
    for prompt in prompts_of(tool_input):
        if prompt.get("question") == choice.question:
            for option in prompt.get("options") or []:
                if isinstance(option, dict) and option.get("label") == choice.selected_options[0]:
                    return str(option.get("preview") or "")
    return ""


def questions_of(tool_input: Mapping[str, Any]) -> Any:
    """What a call asks, for the `questions` of an ask; None if it asks nothing.

    AskFollowupQuestion has its one question at the top level. Only what belongs to a question is taken from
    there: a model does not set the agent's name, the care or the deadline of its question.
    """
    if "questions" in tool_input:
        return tool_input["questions"]
    if "question" in tool_input:
        return [{name: tool_input[name] for name in PROMPT_FIELDS if name in tool_input}]
    return None


def prompts_of(tool_input: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The questions of a call, as far as they look like some."""
    questions = questions_of(tool_input)
    return [prompt for prompt in questions if isinstance(prompt, dict)] if isinstance(questions, list) else []


def question_texts(tool_input: Mapping[str, Any]) -> list[str]:
    return [str(prompt.get("question", "")) for prompt in prompts_of(tool_input)]


# ---- back again: what was answered in the terminal -------------------------------------------------------


def choices_from_claude(
    prompts: Sequence[Mapping[str, Any]], answers: Mapping[str, Any], annotations: Mapping[str, Any]
) -> list[Choice]:
    """Claude's answers as choices for all of the prompts; one that was passed over says so."""
    return [
        _choice(prompt, answers.get(prompt["question"]), annotations.get(prompt["question"]))
        for prompt in prompts
    ]


def _choice(prompt: Mapping[str, Any], answer: Any, annotation: Any) -> Choice:
    labels = [str(option["label"]) for option in prompt["options"]]
    selected: list[str] = []
    custom: list[str] = []
    for text in answer if isinstance(answer, list) else [answer]:
        if not isinstance(text, str) or not text.strip():
            continue
        if isinstance(answer, list) and text in labels:
            selected.append(text)
            continue
        parts = decode(prompt, text)
        selected += parts.selected
        custom += [parts.custom] if parts.custom is not None else []
    if not selected and not custom:
        custom = [NOT_ANSWERED_THERE]
    notes = annotation.get("notes") if isinstance(annotation, dict) else None
    return Choice(
        question=str(prompt["question"]),
        selected_options=list(dict.fromkeys(selected)),
        custom_input=SEPARATOR.join(custom)[:FREE_TEXT_LENGTH] or None,
        notes=notes[:FREE_TEXT_LENGTH] if isinstance(notes, str) and notes.strip() else None,
    )
