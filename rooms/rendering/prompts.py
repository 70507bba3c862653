"""Prompts and options as a card shows them: plain labels, what is chosen, and what was chosen before."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rooms.contract.choices import Choice, parse_choices
from rooms.contract.forms import Draft
from rooms.contract.prompts import Option, Prompt
from rooms.rendering import markup
from rooms.rendering.option_memory import OptionMemory


@dataclass(frozen=True)
class OptionView:
    index: int
    option: Option
    is_chosen: bool
    # The label as plain text.
    text: str
    # What was chosen for similar questions.
    memory: OptionMemory | None = None

    @property
    def label(self) -> str:
        return self.text.replace("(Recommended)", "").strip() if self.is_recommended else self.text

    @property
    def is_recommended(self) -> bool:
        return self.text.endswith("(Recommended)")


@dataclass(frozen=True)
class PromptView:
    index: int
    prompt: Prompt
    choice: Choice | None
    draft: Draft | None = None
    # The error of the text for Other.
    other_error: str = ""
    # The error of the choice.
    error: str = ""
    # Earlier choices of an open question, by the places of prompt and option.
    memory: Mapping[tuple[int, int], OptionMemory] = field(default_factory=dict)

    @property
    def number(self) -> int:
        return self.index + 1

    @property
    def options(self) -> list[OptionView]:
        chosen = self.choice.selected_options if self.choice else []
        drafted = self.draft.selected if self.draft else []
        return [
            OptionView(
                index,
                option,
                option.label in chosen or (index in drafted and not self.choice),
                text,
                self.memory.get((self.index, index)),
            )
            for index, (option, text) in enumerate(zip(self.prompt.options, self._labels, strict=True))
        ]

    @property
    def _labels(self) -> list[str]:
        """The labels as plain text; with their Markdown if two would be the same without it."""
        texts = [markup.plain(label) for label in self.prompt.labels]
        return texts if len(set(texts)) == len(texts) else self.prompt.labels

    @property
    def has_previews(self) -> bool:
        return any(option.preview for option in self.prompt.options)

    @property
    def header(self) -> str:
        return markup.plain(self.prompt.header)

    @property
    def plain_question(self) -> str:
        return markup.plain(self.prompt.question)

    @property
    def name(self) -> str:
        """The name of the prompt among several."""
        return self.header or self.plain_question

    @property
    def summary_name(self) -> str:
        """The name of the prompt in the summary: with a colon, unless it ends with a question mark."""
        return self.name if self.name.endswith("?") else f"{self.name}:"

    @property
    def drafted(self) -> str:
        """The unsent input of this person as one line, to read and copy."""
        if self.draft is None:
            return ""
        parts = [self._labels[index] for index in self.draft.selected]
        return ", ".join(part for part in (*parts, self.draft.other, self.draft.notes) if part.strip())

    @property
    def summary(self) -> str:
        """What was decided, in one line."""
        if self.choice is None:
            return ""
        texts = [option.label for option in self.options if option.is_chosen]
        return ", ".join(texts + ([self.choice.custom_input] if self.choice.custom_input else []))


def in_words(prompts: list[Prompt], choices: list[dict[str, Any]]) -> str:
    """What was chosen for all prompts, in one line."""
    views = [
        PromptView(index, prompt, choice)
        for index, (prompt, choice) in enumerate(zip(prompts, parse_choices(choices), strict=True))
    ]
    return " · ".join(view.summary for view in views)
