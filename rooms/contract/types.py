"""Base types of all payloads: texts that can be stored, and errors with the path of the field."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar, cast

from django.utils.formats import number_format
from django.utils.translation import gettext
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from rooms.contract.lookalikes import one_line, problem_with_caption

Model = TypeVar("Model", bound=BaseModel)


class FieldError(BaseModel):
    """One error, with the path of its field."""

    field: str
    message: str


class InvalidPayload(Exception):
    """The input is not valid; `errors` says what is wrong in which field."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__("; ".join(f"{error.field}: {error.message}" for error in errors))
        self.errors = list(errors)


def wrong(message: str) -> PydanticCustomError:
    # The type of the message is a literal template; without a context its braces are not replaced.
    return PydanticCustomError("ask_bridge", cast(Any, message))


def too_long(text: str, allowed: int) -> PydanticCustomError:
    return wrong(_too_long(len(text), allowed))


def _too_long(length: int, allowed: int) -> str:
    # Translated, because people see it too: browsers count the characters of a text area differently.
    sentence = gettext("is too long: %(length)s characters, %(allowed)s are allowed")
    return sentence % {"length": in_thousands(length), "allowed": in_thousands(allowed)}


def in_thousands(number: int) -> str:
    """The number with the separators of the language: 4,000 or 4.000."""
    return number_format(number, force_grouping=True)


def _storable(text: str) -> str:
    if "\x00" in text:
        raise wrong("must not contain NUL characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        # JSON can contain half a surrogate pair, UTF-8 and PostgreSQL cannot.
        raise wrong("is not valid Unicode text") from None
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise wrong("must not be empty")
    return text


def _showable(text: str) -> str:
    if problem := problem_with_caption(text):
        raise wrong(problem)
    return text


def _none_to_empty(value: object) -> object:
    return "" if value is None else value


Text = Annotated[str, Field(strict=True), AfterValidator(_storable)]
FilledText = Annotated[Text, AfterValidator(_not_blank)]
OptionalText = Annotated[Text, BeforeValidator(_none_to_empty)]
# Texts that people read and click: refused if they contain invisible characters. Not changed, because an
# answer repeats them.
Caption = Annotated[FilledText, AfterValidator(_showable)]
OptionalCaption = Annotated[OptionalText, AfterValidator(_showable)]
# Names of senders: invisible characters are removed, because a question should not be refused for them.
Name = Annotated[Text, AfterValidator(one_line), AfterValidator(_not_blank)]
OptionalName = Annotated[OptionalText, AfterValidator(one_line)]


class Payload(BaseModel):
    """Ignores unknown fields, so that newer agents can talk to older bridges."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True, frozen=True)


def names_of_fields(model: type[BaseModel]) -> list[str]:
    """All names under which a model takes its fields, aliases included."""
    names: list[str] = []
    for name, field in model.model_fields.items():
        match field.validation_alias:
            case AliasChoices(choices=choices):
                names += map(str, choices)
            case str() as alias:
                names.append(alias)
        names.append(name)
    return list(dict.fromkeys(names))


def parse(model: type[Model], body: object, *, at: str = "") -> Model:
    """`body` as a `model`, or InvalidPayload with the path of each wrong field."""
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
            return _too_long(len(error["input"]), context["max_length"])
        case "string_type":
            return "must be a text"
        case "string_unicode":
            return "is not valid Unicode text"
        case "extra_forbidden":
            return "is not known here"
        case "greater_than_equal":
            return f"must be at least {context['ge']:g}"
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
