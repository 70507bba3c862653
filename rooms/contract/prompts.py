"""Prompts: the texts and options of a question, checked when they come in."""

from typing import Annotated, Any, cast

from pydantic import AliasChoices, Field, field_validator

from rooms.contract.limits import (
    DESCRIPTION_LENGTH,
    HEADER_LENGTH,
    LABEL_LENGTH,
    PREVIEW_LENGTH,
    QUESTION_LENGTH,
)
from rooms.contract.lookalikes import first_pair, spelled_out
from rooms.contract.types import Caption, FilledText, OptionalCaption, OptionalText, Payload, wrong


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
    # Checked below, for a better message; repeated here for the API document.
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


def parse_prompts(stored: object) -> list[Prompt]:
    """Stored prompts; not checked again. Those of a newer version may lack fields, and can be read."""
    return [
        Prompt.model_construct(
            question=prompt["question"],
            header=prompt.get("header", ""),
            multi_select=prompt.get("multiSelect", False),
            options=[Option.model_construct(**option) for option in prompt.get("options", ())],
        )
        for prompt in cast("list[dict[str, Any]]", stored)
    ]
