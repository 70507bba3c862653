"""Record of a question, shown beside its card: when it was asked, settled and delivered, and its votes."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext

from rooms.contract.prompts import parse_prompts
from rooms.contract.votes import cast_at
from rooms.rendering.card_content import Card, voter
from rooms.rendering.humanize import duration
from rooms.rendering.prompts import in_words


@dataclass(frozen=True)
class Step:
    """Something that happened to a question; without a time it has not happened yet."""

    name: str
    at: datetime | None = None
    # Time since the question was asked, as text.
    after: str = ""


@dataclass(frozen=True)
class CastVote:
    name: str
    user_id: str
    choice: str
    notes: list[str]
    at: datetime
    # Whether it counted for the decision.
    is_deciding: bool


@dataclass(frozen=True)
class Record:
    """The steps and votes of a question."""

    card: Card

    @property
    def steps(self) -> list[Step]:
        """Asked, waited for, settled, delivered, in this order."""
        question = self.card.question
        steps = [Step(gettext("Asked by %(agent)s") % {"agent": question.agent_name}, question.asked_at)]
        if question.last_seen_at:
            steps.append(self._since_the_ask(gettext("Agent last seen waiting"), question.last_seen_at))
        if question.is_held:
            decided_at = cast_at(question.decided_by[-1])
            steps += [
                self._since_the_ask(self.card.outcome.text, decided_at),
                Step(gettext("Not sent to the agent yet")),
            ]
        elif not question.settled_at:
            steps.append(Step(gettext("Not answered yet")))
        if question.settled_at:
            steps.append(self._since_the_ask(self.card.outcome.text, question.settled_at))
        if question.delivered_at:
            steps.append(self._since_the_ask(gettext("Delivered to the agent"), question.delivered_at))
        elif question.settled_at and self.card.answer:
            steps.append(Step(gettext("Not delivered yet")))
        return steps

    def _since_the_ask(self, name: str, at: datetime) -> Step:
        # The clocks of several machines may differ a little.
        seconds = max(0.0, (at - self.card.question.asked_at).total_seconds())
        return Step(name, at, duration(seconds))

    @property
    def votes(self) -> list[CastVote]:
        """The votes in the order in which they were cast; none where one person decides."""
        question = self.card.question
        if self.card.care is None or self.card.care.votes is None:
            return []
        prompts = parse_prompts(question.prompts)
        return [
            CastVote(
                name=voter(vote),
                user_id=vote["user_id"],
                choice=in_words(prompts, vote["choices"]),
                notes=[choice["notes"] for choice in vote["choices"] if choice.get("notes")],
                at=cast_at(vote),
                is_deciding=vote in question.decided_by,
            )
            for vote in question.votes or ()
        ]
