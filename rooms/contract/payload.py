"""Request bodies of the API: asks, reported answers and messages, as typed objects.

Agents send questions in many shapes; `shapes.py` brings them into one before they are checked.
No database here.
"""

from typing import Annotated, Any, Literal

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
from rooms.contract.asks import Ask
from rooms.contract.care import USERNAME_LENGTH
from rooms.contract.choices import Choice, choices_from_map
from rooms.contract.colors import to_hex
from rooms.contract.limits import AGENT_NAME_LENGTH, MESSAGE_LENGTH
from rooms.contract.types import (
    FilledText,
    OptionalName,
    OptionalText,
    Payload,
    Text,
    parse,
    too_long,
)


def parse_ask(body: object) -> Ask:
    """Any accepted shape of a question as one typed ask, or InvalidPayload."""
    return parse(Ask, shapes.to_canonical(body))


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
    """An answer from elsewhere: `{question: label or [labels]}` or a list of choices.

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
    """The JSON schema of the content of messages of this type, for the API document."""
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
        """Limits messages and log lines only; a question has its own limit for each part."""
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
