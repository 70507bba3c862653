"""The ask: a question of an agent in its canonical form, as `shapes.py` makes it from what was sent."""

from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from rooms.contract.care import Care
from rooms.contract.choices import Choice, check_choices, choices_from_map
from rooms.contract.colors import to_hex
from rooms.contract.limits import (
    AGENT_NAME_LENGTH,
    CONTEXT_LENGTH,
    FOLDER_LENGTH,
    IDENTIFIER_LENGTH,
    LEAST_DEFAULT_SECONDS,
    LONGEST_TIMEOUT_SECONDS,
)
from rooms.contract.prompts import Prompt
from rooms.contract.types import InvalidPayload, Name, OptionalText, Payload, wrong


class Agent(Payload):
    name: Annotated[Name, Field(max_length=AGENT_NAME_LENGTH)] = "agent"
    color: Annotated[OptionalText, AfterValidator(to_hex)] = ""


class Context(Payload):
    text: Annotated[OptionalText, Field(max_length=CONTEXT_LENGTH)] = ""
    cwd: Annotated[OptionalText, Field(max_length=FOLDER_LENGTH)] = ""
    branch: Annotated[OptionalText, Field(max_length=250)] = ""


class Ask(Payload):
    """A whole ask in its canonical form."""

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
    def default_choices(self) -> list[Choice] | None:
        if self.default is None:
            return None
        return check_choices(self.questions, choices_from_map(self.default))
