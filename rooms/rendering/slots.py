"""Votes as slots: for each choice that was voted for, who chose it and how many votes are missing."""

from dataclasses import dataclass

from django.utils.text import get_text_list
from django.utils.translation import gettext, ngettext


@dataclass(frozen=True)
class Slots:
    """The votes for one choice; without a choice, the slots of a question that has no votes yet."""

    choice: str
    # The other people who chose it.
    names: list[str]
    # Whether the viewer chose it, too.
    is_mine: bool
    needed: int

    @property
    def filled(self) -> int:
        return len(self.names) + self.is_mine

    @property
    def places(self) -> list[bool]:
        """One for each vote that is needed: whether it was given."""
        return [place < self.filled for place in range(max(self.needed, self.filled))]

    @property
    def text(self) -> str:
        """What the slots show: "You chose Roll out, 1 more vote needed"."""
        missing = self.needed - self.filled
        if not self.filled:
            return gettext("No votes yet, %(number)s needed") % {"number": missing}
        if missing < 1:
            return self._chosen
        sentence = ngettext(
            "%(chosen)s, %(number)s more vote needed", "%(chosen)s, %(number)s more votes needed", missing
        )
        return sentence % {"chosen": self._chosen, "number": missing}

    @property
    def _chosen(self) -> str:
        words = {"names": get_text_list(self.names, gettext("and")), "choice": self.choice}
        if not self.is_mine:
            return ngettext("%(names)s chose %(choice)s", "%(names)s chose %(choice)s", self.filled) % words
        if self.names:
            return gettext("You and %(names)s chose %(choice)s") % words
        return gettext("You chose %(choice)s") % words
