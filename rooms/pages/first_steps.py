"""Checklist of an agent key: created, first call, first question, first answer, delivered."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.utils.translation import gettext

from rooms.models import AgentKey, Question, Room
from rooms.rendering import markup
from rooms.rendering.card_content import Card


@dataclass(frozen=True)
class Step:
    """One line of the list: what happened and when, or what is still missing."""

    name: str
    fact: str
    at: datetime | None = None
    # The question that the line is about.
    question: Question | None = None
    is_done: bool = False


@dataclass(frozen=True)
class FirstSteps:
    """The first steps of an agent with this key; without a key none is done."""

    room: Room
    key: AgentKey | None

    @cached_property
    def steps(self) -> list[Step]:
        return [*self._key_steps(), *self._question_steps()]

    @property
    def done(self) -> int:
        """How many are done; also tells a page whether it is up to date."""
        return sum(step.is_done for step in self.steps)

    @property
    def latest(self) -> Step | None:
        """The last one that is done."""
        return next((step for step in reversed(self.steps) if step.is_done), None)

    @property
    def is_under_way(self) -> bool:
        """Whether the page has to ask for news."""
        return self.key is not None and self.done < len(self.steps)

    def _key_steps(self) -> Iterator[Step]:
        name = gettext("Key created")
        if self.key:
            yield Step(name, self.key.label, self.key.created_at, is_done=True)
        else:
            yield Step(name, gettext("The room has no key yet"))
        name = gettext("First call")
        if self.key and self.key.last_used_at:
            yield Step(name, gettext("The key works"), self.key.last_used_at, is_done=True)
        else:
            yield Step(name, gettext("Waiting for a call with this key"))

    def _question_steps(self) -> Iterator[Step]:
        asked = answered = delivered = None
        if self.key and self.key.last_used_at:
            questions = Question.objects.with_answer().filter(key=self.key).order_by("asked_at")
            with_answer = questions.filter(status=Question.Status.ANSWERED)
            asked = questions.first()
            answered = asked and with_answer.first()
            delivered = answered and with_answer.exclude(delivered_at=None).first()
        name = gettext("First question")
        if asked:
            yield Step(name, markup.plain(asked.prompts[0]["question"]), asked.asked_at, asked, is_done=True)
        else:
            yield Step(name, gettext("Waiting for the agent to ask"))
        name = gettext("First answer")
        if answered:
            yield Step(name, Card(answered).outcome.text, answered.settled_at, answered, is_done=True)
        else:
            text = gettext("Anyone in %(room)s can answer") % {"room": self.room.name}
            yield Step(name, text, question=asked if asked and asked.is_open else None)
        name = gettext("Delivered")
        if delivered:
            yield Step(name, gettext("The agent has the answer"), delivered.delivered_at, is_done=True)
        else:
            yield Step(name, gettext("The agent gets the answer and continues"))
