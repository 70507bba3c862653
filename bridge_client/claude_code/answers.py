"""Conversion between the bridge's answers (lists of labels) and Claude's (one string per question)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bridge_client.claude_code.answer_text import SEPARATOR, decode, encode, quoted
from bridge_client.results import Choice

# The fields of a question at the top level of a tool's input; its options have several names.
PROMPT_FIELDS = (
    *("question", "header", "multiSelect", "multi_select"),
    *("options", "follow_up", "followUp", "suggestions", "choices"),
)

NOT_ANSWERED = "(not answered in the terminal)"

# The server's limit for a custom text and for a note.
FREE_TEXT_LENGTH = 4_000


def questions_of(tool_input: Mapping[str, Any]) -> Any:
    """The `questions` of a tool call, as the API takes them; None if it has none.

    AskFollowupQuestion has its one question at the top level. Only fields of a question are taken from there:
    a model cannot set the agent's name, the care or the deadline of its question.
    """
    if "questions" in tool_input:
        return tool_input["questions"]
    if "question" in tool_input:
        return [{name: tool_input[name] for name in PROMPT_FIELDS if name in tool_input}]
    return None


def prompts_of(tool_input: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The questions of a tool call, without entries that are not objects."""
    questions = questions_of(tool_input)
    return [prompt for prompt in questions if isinstance(prompt, dict)] if isinstance(questions, list) else []


def question_texts(tool_input: Mapping[str, Any]) -> list[str]:
    return [str(prompt.get("question", "")) for prompt in prompts_of(tool_input)]


def claude_answers(choices: Sequence[Choice], prompts: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """`{question: "label"}`, labels and custom text in one string; unanswered questions are left out."""
    by_text = {str(prompt.get("question", "")): prompt for prompt in prompts}
    answers = {
        choice.question: encode(
            by_text.get(choice.question, {}), choice.selected_options, choice.custom_input
        )
        for choice in choices
    }
    return {question: answer for question, answer in answers.items() if answer}


def claude_annotations(choices: Sequence[Choice], tool_input: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Notes and the preview of the chosen option, as Claude's own dialog adds them."""
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


def choices_from_claude(
    prompts: Sequence[Mapping[str, Any]], answers: Mapping[str, Any], annotations: Mapping[str, Any]
) -> list[Choice]:
    """Claude's answers as choices for all prompts; a prompt without an answer gets NOT_ANSWERED."""
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
        custom = [NOT_ANSWERED]
    notes = annotation.get("notes") if isinstance(annotation, dict) else None
    return Choice(
        question=str(prompt["question"]),
        selected_options=list(dict.fromkeys(selected)),
        custom_input=SEPARATOR.join(custom)[:FREE_TEXT_LENGTH] or None,
        notes=notes[:FREE_TEXT_LENGTH] if isinstance(notes, str) and notes.strip() else None,
    )
