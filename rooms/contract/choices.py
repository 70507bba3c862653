"""Choices: what was decided for each prompt of a question, checked against the options that it offers.

Errors that a person can make on a card are translated; the other ones are read by agents only.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, cast

from django.utils.translation import gettext
from pydantic import AliasChoices, Field

from rooms.contract.limits import FREE_TEXT_LENGTH
from rooms.contract.prompts import Prompt
from rooms.contract.types import (
    FieldError,
    InvalidPayload,
    OptionalText,
    Payload,
    Text,
    in_thousands,
    parse,
    wrong,
)


class Choice(Payload):
    """What was decided for one prompt."""

    question: Text
    header: OptionalText = ""
    selected_options: Annotated[
        list[Text],
        Field(
            validation_alias=AliasChoices("selectedOptions", "selected_options"),
            serialization_alias="selectedOptions",
        ),
    ] = []
    custom_input: Annotated[Text, Field(max_length=FREE_TEXT_LENGTH)] | None = Field(
        default=None,
        validation_alias=AliasChoices("customInput", "custom_input"),
        serialization_alias="customInput",
    )
    notes: Annotated[Text, Field(max_length=FREE_TEXT_LENGTH)] | None = None


def choices_from_map(answers: object) -> list[dict[str, Any]]:
    """`{question: label}`, `{question: [labels]}` or `{question: {…choice…}}` as a list of choices."""
    if not isinstance(answers, dict):
        raise wrong("must be an object of question texts and labels")
    choices = []
    for question, value in answers.items():
        if isinstance(value, dict):
            choices.append({**value, "question": question})
        else:
            labels = value if isinstance(value, list) else [value]
            choices.append({"question": question, "selectedOptions": labels})
    return choices


def check_choices(prompts: Sequence[Prompt], given: Sequence[Choice | dict[str, Any]]) -> list[Choice]:
    """The choices in the order of the prompts, or InvalidPayload: only offered options can be chosen."""
    choices = [
        choice if isinstance(choice, Choice) else parse(Choice, choice, at=f"answers[{index}]")
        for index, choice in enumerate(given)
    ]
    errors = []
    by_question: dict[str, Choice] = {}
    known = {prompt.question for prompt in prompts}
    for index, choice in enumerate(choices):
        if choice.question not in known:
            errors.append(
                FieldError(field=f"answers[{index}].question", message="is not one of the questions asked")
            )
        elif choice.question in by_question:
            errors.append(FieldError(field=f"answers[{index}].question", message="is answered twice"))
        by_question[choice.question] = choice
    checked = []
    for prompt in prompts:
        found = by_question.get(prompt.question)
        problem = _problem_with(prompt, found)
        if problem:
            errors.append(FieldError(field=f'answers["{prompt.question}"]', message=problem))
        elif found:
            custom = found.custom_input if found.custom_input and found.custom_input.strip() else None
            notes = found.notes if found.notes and found.notes.strip() else None
            chosen = [label for label in prompt.labels if label in found.selected_options]
            checked.append(
                Choice(
                    question=prompt.question,
                    header=prompt.header,
                    selected_options=chosen,
                    custom_input=custom,
                    notes=notes,
                )
            )
    if errors:
        raise InvalidPayload(errors)
    return checked


def _problem_with(prompt: Prompt, choice: Choice | None) -> str | None:
    if choice is None:
        return "has no answer"
    unknown = [label for label in choice.selected_options if label not in prompt.labels]
    if unknown:
        offered = ", ".join(f'"{label}"' for label in prompt.labels)
        return f'"{unknown[0]}" is not on offer; choose from {offered}, or send it as customInput'
    has_custom = bool(choice.custom_input and choice.custom_input.strip())
    count = len(set(choice.selected_options)) + has_custom
    if count == 0:
        return gettext("needs an option or a text of your own")
    if count > 1 and not prompt.multi_select:
        return gettext("takes one answer, got %(count)s") % {"count": count}
    return None


def check_reply(text: str) -> str:
    """The text that a person sends instead of a choice, or InvalidPayload if it is empty or too long."""
    text = text.strip()
    if not text:
        problem = gettext("write what the agent should know before you choose")
    elif len(text) > FREE_TEXT_LENGTH:
        problem = gettext("the reply is too long: %(length)s characters, %(allowed)s are allowed") % {
            "length": in_thousands(len(text)),
            "allowed": in_thousands(FREE_TEXT_LENGTH),
        }
    else:
        return text
    raise InvalidPayload([FieldError(field="reply", message=problem)])


def as_json(choices: Iterable[Choice]) -> list[dict[str, Any]]:
    """Choices in the form that is stored."""
    return [choice.model_dump(by_alias=True) for choice in choices]


def parse_choices(stored: object) -> list[Choice]:
    """Stored choices; not checked again, because the joined notes of several voters may exceed the limit."""
    return [
        Choice.model_construct(
            question=choice["question"],
            header=choice.get("header", ""),
            selected_options=choice["selectedOptions"],
            custom_input=choice.get("customInput"),
            notes=choice.get("notes"),
        )
        for choice in cast("list[dict[str, Any]]", stored)
    ]
