"""Memory of an option: how often it was chosen for similar questions, and by whom last.

It counts the earlier answers that are stored with the question (`history/similar.py`). They are listed under
the card, so the numbers can be checked there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from rooms.contract.prompts import Prompt
from rooms.rendering import markup

# How many earlier answers a card has at most, the most similar ones: more would not be read. Of equally
# similar answers the newest is the most relevant.
SHOWN = 3


@dataclass(frozen=True)
class OptionMemory:
    """How often an option was chosen in the earlier answers."""

    times: int
    answers: int
    # Who chose it last; empty for an answer in a terminal.
    person: str
    # Whether the newest earlier answer chose it: the key for "same as last time" does, too.
    is_latest: bool
    # Whether there may be more earlier answers, which are not counted.
    may_be_more: bool = False

    @property
    def text(self) -> str:
        words = {"times": self.times, "answers": self.answers, "name": self.person}
        if self.answers == 1 and self.person:
            return gettext("chosen last time by %(name)s") % words
        if self.answers == 1:
            return gettext("chosen last time in the terminal")
        if self.may_be_more and self.person:
            said = gettext("chosen in %(times)s of the %(answers)s most similar answers, last by %(name)s")
            return said % words
        if self.may_be_more:
            said = gettext(
                "chosen in %(times)s of the %(answers)s most similar answers, last in the terminal"
            )
            return said % words
        if self.person:
            return gettext("chosen %(times)s of %(answers)s times, last by %(name)s") % words
        return gettext("chosen %(times)s of %(answers)s times, last in the terminal") % words


def memory_of_options(
    prompts: Sequence[Prompt], memories: Sequence[dict[str, Any]] | None
) -> dict[tuple[int, int], OptionMemory]:
    """The memory of each option that was chosen before, by the places of its prompt and of itself."""
    # An earlier question with more or fewer prompts does not say which of its answers belongs to which.
    comparable = [memory for memory in memories or () if len(memory["chosen"]) == len(prompts)]
    may_be_more = len(memories or ()) >= SHOWN
    newest_first = sorted(comparable, key=lambda memory: memory["at"], reverse=True)
    return {
        (place, number): OptionMemory(
            len(by),
            len(newest_first),
            by[0]["person"],
            is_latest=by[0] is newest_first[0],
            may_be_more=may_be_more,
        )
        for place, prompt in enumerate(prompts)
        for number, label in enumerate(prompt.labels)
        if (by := [memory for memory in newest_first if _name(label) in _selected(memory, place)])
    }


def _selected(memory: dict[str, Any], place: int) -> list[str]:
    # Memories that were stored by an older version have only the joined text.
    selected = memory["selected"][place] if "selected" in memory else [memory["chosen"][place]]
    return [_name(label) for label in selected]


def _name(label: str) -> str:
    """The label as it is compared: what was recommended then says nothing about now."""
    return markup.plain(label).replace("(Recommended)", "").strip()
