"""Wire JSON to typed prompts and choices: everything an agent or a person may send, checked.

Agents send questions in many shapes; `shapes.py` brings them into one before this module checks it.
No database here.

What a person can get wrong on a card is said in their language; the rest only agents ever read.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, cast

from django.utils.translation import gettext
from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)

from rooms.contract import shapes
from rooms.contract.care import USERNAME_LENGTH, Care
from rooms.contract.colors import to_hex
from rooms.contract.lookalikes import first_pair, spelled_out
from rooms.contract.types import (
    Caption,
    FieldError,
    FilledText,
    InvalidPayload,
    Name,
    OptionalCaption,
    OptionalName,
    OptionalText,
    Payload,
    Text,
    in_thousands,
    parse,
    too_long,
    wrong,
)

# The limits of the wire contract. Text ones count characters.
QUESTION_LENGTH = 2_000
LABEL_LENGTH = 200
DESCRIPTION_LENGTH = 1_000
PREVIEW_LENGTH = 8_000
CONTEXT_LENGTH = 8_000
FREE_TEXT_LENGTH = 4_000  # Other, notes, the reason of a skip and a reply instead of a choice
AGENT_NAME_LENGTH = 80
HEADER_LENGTH = 80  # Claude Code does not enforce its own 12: accepted, and cut where there is no room
IDENTIFIER_LENGTH = 200
MESSAGE_LENGTH = 16_000
FOLDER_LENGTH = 1_000
BODY_LIMIT = 64 * 1024  # bytes of a whole request
PAGE_SIZE = 50  # entries of a list, unless told otherwise
PAGE_LIMIT = 200
LONGEST_WAIT_SECONDS = 55  # servers and proxies give up after 60 seconds without a byte
# As the client's hook command has it: long enough for somebody to walk by, short enough for whoever sits at
# the terminal. A day is the longest that Claude Code takes for a hook.
HOOK_TIMEOUT_SECONDS = 300
LONGEST_HOOK_TIMEOUT_SECONDS = 86_400
# Of a question with a default. A person at the page can read a short question and click in this time;
# with less the default would decide before any person could.
LEAST_DEFAULT_SECONDS = 5
LONGEST_TIMEOUT_SECONDS = 30 * 24 * 3600  # a question that outlives a month is not waited for


class Option(Payload):
    label: Annotated[Caption, Field(max_length=LABEL_LENGTH)]
    description: Annotated[OptionalText, Field(max_length=DESCRIPTION_LENGTH)] = ""
    preview: Annotated[OptionalText, Field(max_length=PREVIEW_LENGTH)] = ""


class Prompt(Payload):
    question: Annotated[FilledText, Field(max_length=QUESTION_LENGTH)]
    header: Annotated[OptionalCaption, Field(max_length=HEADER_LENGTH)] = ""
    multi_select: Annotated[
        bool,
        Field(
            strict=True,
            validation_alias=AliasChoices("multiSelect", "multi_select"),
            serialization_alias="multiSelect",
        ),
    ] = False
    # Counted below, for the sentence; said here for the API document.
    options: Annotated[list[Option], Field(json_schema_extra={"minItems": 2, "maxItems": 4})]

    @field_validator("options")
    @classmethod
    def two_to_four_unique(cls, options: list[Option]) -> list[Option]:
        if not 2 <= len(options) <= 4:
            raise wrong(f"needs 2 to 4 options, got {len(options)}")
        if len({option.label for option in options}) < len(options):
            raise wrong("has the same label twice; every option needs a label of its own")
        if pair := first_pair([option.label for option in options]):
            first, second = map(spelled_out, pair)
            raise wrong(f"has two labels that look the same: {first} and {second}")
        return options

    @property
    def labels(self) -> list[str]:
        return [option.label for option in self.options]


class Agent(Payload):
    name: Annotated[Name, Field(max_length=AGENT_NAME_LENGTH)] = "agent"
    color: Annotated[OptionalText, AfterValidator(to_hex)] = ""


class Context(Payload):
    text: Annotated[OptionalText, Field(max_length=CONTEXT_LENGTH)] = ""
    cwd: Annotated[OptionalText, Field(max_length=FOLDER_LENGTH)] = ""
    branch: Annotated[OptionalText, Field(max_length=250)] = ""


class Ask(Payload):
    """A whole ask in the one form that the rest of the code knows."""

    questions: Annotated[list[Prompt], Field(json_schema_extra={"minItems": 1, "maxItems": 4})]
    agent: Agent = Agent()
    session_id: Annotated[OptionalText, Field(max_length=IDENTIFIER_LENGTH)] = ""
    tool_use_id: Annotated[OptionalText, Field(max_length=IDENTIFIER_LENGTH)] = ""
    context: Context = Context()
    timeout_seconds: Annotated[float, Field(strict=True, gt=0, le=LONGEST_TIMEOUT_SECONDS)] | None = None
    default: dict[str, str | list[str]] | None = None
    care: Care | None = None

    @field_validator("questions")
    @classmethod
    def one_to_four_unique(cls, questions: list[Prompt]) -> list[Prompt]:
        if not 1 <= len(questions) <= 4:
            raise wrong(f"needs 1 to 4 questions, got {len(questions)}")
        if len({prompt.question for prompt in questions}) < len(questions):
            raise wrong("has the same question text twice; answers are found by their text")
        return questions

    @field_validator("default")
    @classmethod
    def default_is_on_offer(
        cls, default: dict[str, str | list[str]] | None, info: ValidationInfo
    ) -> dict[str, str | list[str]] | None:
        if default is not None and "questions" in info.data:
            try:
                check_choices(info.data["questions"], choices_from_map(default))
            except InvalidPayload as problem:
                raise wrong(problem.errors[0].message) from problem
        return default

    @field_validator("default")
    @classmethod
    def people_have_time_before_default(
        cls, default: dict[str, str | list[str]] | None, info: ValidationInfo
    ) -> dict[str, str | list[str]] | None:
        timeout = info.data.get("timeout_seconds")
        if default is not None and timeout is not None and timeout < LEAST_DEFAULT_SECONDS:
            raise wrong(
                f"needs a timeout_seconds of at least {LEAST_DEFAULT_SECONDS}, so that people can answer"
            )
        return default

    @property
    def default_choices(self) -> "list[Choice] | None":
        if self.default is None:
            return None
        return check_choices(self.questions, choices_from_map(self.default))


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


class Named(Payload):
    """A person by their user name."""

    username: Annotated[FilledText, Field(max_length=USERNAME_LENGTH)]


# `"ana"` is short for `{"username": "ana"}`.
NamedPerson = Annotated[
    Named,
    BeforeValidator(
        lambda given: {"username": given} if isinstance(given, str) else given,
        json_schema_input_type=str | Named,
    ),
]


class ReportedAnswer(Payload):
    """An answer that was given elsewhere: `{question: label or [labels]}` or a list of choices.

    With `api`, `by` names the person who gave it; with `terminal` it is ignored.
    """

    answers: list[Choice]
    via: Literal["terminal", "api"] = "terminal"
    by: NamedPerson | None = None

    @field_validator(
        "answers", mode="before", json_schema_input_type=dict[str, str | list[str]] | list[Choice]
    )
    @classmethod
    def map_to_list(cls, answers: object) -> object:
        return choices_from_map(answers) if isinstance(answers, dict) else answers


def _content_schema(kind: str, schema: str) -> dict[str, Any]:
    """Says in the API document what the content of messages of this type is."""
    content = {
        "contentMediaType": "application/json",
        "contentSchema": {"$ref": f"#/components/schemas/{schema}"},
    }
    return {
        "if": {"properties": {"type": {"const": kind}}, "required": ["type"]},
        "then": {"properties": {"content": content}},
    }


class NewMessage(Payload):
    """A line for the timeline; with type AskUserQuestion its content is a question as JSON."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                _content_schema("AskUserQuestion", "Ask"),
                _content_schema("AskUserQuestionResponse", "ResponseContent"),
            ]
        }
    )

    type: str = "message"
    content: FilledText
    sender: Annotated[OptionalName, Field(max_length=AGENT_NAME_LENGTH)] = ""
    sender_type: Literal["agent", "human"] = "agent"
    color: Annotated[OptionalText, AfterValidator(to_hex)] = ""

    @field_validator("type", mode="before")
    @classmethod
    def known_type(cls, value: object) -> object:
        return value if value in MESSAGE_TYPES else "message"

    @field_validator("content")
    @classmethod
    def line_fits(cls, content: str, info: ValidationInfo) -> str:
        """Only what is shown as a line; a question has limits of its own for each part."""
        if info.data.get("type") in ("message", "log") and len(content) > MESSAGE_LENGTH:
            raise too_long(content, MESSAGE_LENGTH)
        return content


MESSAGE_TYPES = ("message", "log", "AskUserQuestion", "AskUserQuestionResponse")


class ResponseContent(Payload):
    """Content of a message of type AskUserQuestionResponse."""

    question_id: Annotated[
        FilledText, Field(validation_alias=AliasChoices("questionMessageId", "question_id"))
    ]
    selected_options: Annotated[
        list[Text], Field(validation_alias=AliasChoices("selectedOptions", "selected_options"))
    ] = []
    answers: list[Choice] = []
    by: NamedPerson | None = None


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
    """The choices in the order of the prompts, or InvalidPayload: only what was offered can be chosen."""
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
        problem = _what_is_wrong(prompt, found)
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


def _what_is_wrong(prompt: Prompt, choice: Choice | None) -> str | None:
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
    """What a person writes instead of choosing, or InvalidPayload: there must be something to read."""
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


def parse_ask(body: object) -> Ask:
    """Any accepted shape of a question as one typed ask, or InvalidPayload."""
    return parse(Ask, shapes.to_canonical(body))


def parse_prompts(stored: object) -> list[Prompt]:
    """Prompts as they were stored: checked when they came in, so not again."""
    return [
        Prompt.model_construct(
            question=prompt["question"],
            header=prompt["header"],
            multi_select=prompt["multiSelect"],
            options=[Option.model_construct(**option) for option in prompt["options"]],
        )
        for prompt in cast("list[dict[str, Any]]", stored)
    ]


def as_json(choices: Iterable[Choice]) -> list[dict[str, Any]]:
    """Choices as they are stored."""
    return [choice.model_dump(by_alias=True) for choice in choices]


def parse_choices(stored: object) -> list[Choice]:
    """Choices as they were stored: checked when they came in, and the notes of several make a longer one."""
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
