"""Wire JSON to typed prompts and choices: everything an agent or a person may send, checked.

Agents send questions in many shapes; `shapes.py` brings them into one before this module checks it.
No database here.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from rooms import shapes
from rooms.colors import to_hex

# The limits of the wire contract. Text ones count characters.
QUESTION_LENGTH = 2_000
LABEL_LENGTH = 200
DESCRIPTION_LENGTH = 1_000
PREVIEW_LENGTH = 8_000
CONTEXT_LENGTH = 8_000
FREE_TEXT_LENGTH = 4_000  # Other, notes and the reason of a skip
AGENT_NAME_LENGTH = 80
HEADER_LENGTH = 80  # Claude Code does not enforce its own 12: accepted, and shown shortened
IDENTIFIER_LENGTH = 200
MESSAGE_LENGTH = 16_000
LONGEST_TIMEOUT_SECONDS = 30 * 24 * 3600  # a question that outlives a month is not waited for


Model = TypeVar("Model", bound=BaseModel)


class FieldError(BaseModel):
    """One thing that is wrong, and where."""

    field: str
    message: str


class InvalidPayload(Exception):
    """What was sent does not fit; `errors` says what and where."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__("; ".join(f"{error.field}: {error.message}" for error in errors))
        self.errors = list(errors)


def wrong(message: str) -> PydanticCustomError:
    # pydantic's types want a literal, as a template; without a context braces stay as they are.
    return PydanticCustomError("ask_bridge", cast(Any, message))


def _storable(text: str) -> str:
    if "\x00" in text:
        raise wrong("must not contain NUL characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        # JSON can spell half a surrogate pair, UTF-8 and PostgreSQL cannot.
        raise wrong("is not valid Unicode text") from None
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise wrong("must not be empty")
    return text


def _none_to_empty(value: object) -> object:
    return "" if value is None else value


Text = Annotated[str, Field(strict=True), AfterValidator(_storable)]
FilledText = Annotated[Text, AfterValidator(_not_blank)]
OptionalText = Annotated[Text, BeforeValidator(_none_to_empty)]


class Strict(BaseModel):
    """Unknown fields are let pass, so that newer agents can talk to older bridges."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True, frozen=True)


class Option(Strict):
    label: Annotated[FilledText, Field(max_length=LABEL_LENGTH)]
    description: Annotated[OptionalText, Field(max_length=DESCRIPTION_LENGTH)] = ""
    preview: Annotated[OptionalText, Field(max_length=PREVIEW_LENGTH)] = ""


class Prompt(Strict):
    question: Annotated[FilledText, Field(max_length=QUESTION_LENGTH)]
    header: Annotated[OptionalText, Field(max_length=HEADER_LENGTH)] = ""
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
        return options

    @property
    def labels(self) -> list[str]:
        return [option.label for option in self.options]


class Agent(Strict):
    name: Annotated[FilledText, Field(max_length=AGENT_NAME_LENGTH)] = "agent"
    color: Annotated[OptionalText, AfterValidator(to_hex)] = ""


class Context(Strict):
    text: Annotated[OptionalText, Field(max_length=CONTEXT_LENGTH)] = ""
    cwd: Annotated[OptionalText, Field(max_length=1_000)] = ""
    branch: Annotated[OptionalText, Field(max_length=250)] = ""


class Ask(Strict):
    """A whole ask in the one form that the rest of the code knows."""

    questions: Annotated[list[Prompt], Field(json_schema_extra={"minItems": 1, "maxItems": 4})]
    agent: Agent = Agent()
    session_id: Annotated[OptionalText, Field(max_length=IDENTIFIER_LENGTH)] = ""
    tool_use_id: Annotated[OptionalText, Field(max_length=IDENTIFIER_LENGTH)] = ""
    context: Context = Context()
    timeout_seconds: Annotated[float, Field(strict=True, gt=0, le=LONGEST_TIMEOUT_SECONDS)] | None = None
    default: dict[str, str | list[str]] | None = None

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

    @property
    def default_choices(self) -> "list[Choice] | None":
        if self.default is None:
            return None
        return check_choices(self.questions, choices_from_map(self.default))


class Choice(Strict):
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


class ReportedAnswer(Strict):
    """An answer that an agent reports: `{question: label or [labels]}` or a list of choices."""

    answers: list[Choice]
    via: Literal["terminal", "api"] = "terminal"

    @field_validator(
        "answers", mode="before", json_schema_input_type=dict[str, str | list[str]] | list[Choice]
    )
    @classmethod
    def map_to_list(cls, answers: object) -> object:
        return choices_from_map(answers) if isinstance(answers, dict) else answers


class NewMessage(Strict):
    """A line for the timeline; with type AskUserQuestion its content is a question as JSON."""

    content: Annotated[FilledText, Field(max_length=MESSAGE_LENGTH)]
    sender: Annotated[OptionalText, Field(max_length=AGENT_NAME_LENGTH)] = ""
    sender_type: Literal["agent", "human"] = "agent"
    color: Annotated[OptionalText, AfterValidator(to_hex)] = ""
    type: str = "message"

    @field_validator("type", mode="before")
    @classmethod
    def known_type(cls, value: object) -> object:
        return value if value in MESSAGE_TYPES else "message"


MESSAGE_TYPES = ("message", "log", "AskUserQuestion", "AskUserQuestionResponse")


class ResponseContent(Strict):
    """Content of a message of type AskUserQuestionResponse."""

    question_id: Annotated[
        FilledText, Field(validation_alias=AliasChoices("questionMessageId", "question_id"))
    ]
    selected_options: Annotated[
        list[Text], Field(validation_alias=AliasChoices("selectedOptions", "selected_options"))
    ] = []
    answers: list[Choice] = []


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
        return "needs an option or a text of your own"
    if count > 1 and not prompt.multi_select:
        return f"takes one answer, got {count}"
    return None


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


def parse(model: type[Model], body: object, *, at: str = "") -> Model:
    """`body` as a `model`, or InvalidPayload with the path of each field."""
    try:
        return model.model_validate(body)
    except ValidationError as problem:
        raise InvalidPayload([_field_error(error, at) for error in problem.errors()]) from problem


def _field_error(error: ErrorDetails, at: str) -> FieldError:
    path = at
    for part in error["loc"]:
        if isinstance(part, int):
            path += f"[{part}]"
        elif not re.fullmatch(r"[\w-]+", part) or part in ("str", "list[str]"):
            continue  # the name of a union's branch, not of a field
        else:
            path += f".{part}" if path else part
    return FieldError(field=path or "body", message=_sentence(error))


def _sentence(error: ErrorDetails) -> str:
    context = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return "is required"
        case "string_too_long" | "too_long":
            return f"is too long: {len(error['input']):,} characters, {context['max_length']:,} are allowed"
        case "string_type":
            return "must be a text"
        case "string_unicode":
            return "is not valid Unicode text"
        case "list_type":
            return "must be a list"
        case "dict_type" | "model_type" | "model_attributes_type":
            return "must be an object"
        case "bool_type" | "bool_parsing":
            return "must be true or false"
        case "float_type" | "float_parsing" | "int_type":
            return "must be a number"
        case "greater_than":
            return f"must be more than {context['gt']:g}"
        case "less_than_equal":
            return f"must be at most {context['le']:,.0f}"
        case _:
            message = error["msg"]
            return message[:1].lower() + message[1:]
