"""Content of the admin page of a question: prompts, answer, votes, care and times as readable text."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.urls import reverse
from django.utils.text import get_text_list
from django.utils.translation import gettext

from rooms import access
from rooms.access import locks
from rooms.contract.care import First
from rooms.models import Question
from rooms.rendering.card_content import Card
from rooms.rendering.humanize import duration
from rooms.rendering.named_people import names_of
from rooms.rendering.record import Record, Step


@dataclass(frozen=True)
class QuestionPage:
    """One question for one admin."""

    question: Question
    user: Any

    @cached_property
    def card(self) -> Card:
        return Card(self.question)

    @property
    def record(self) -> Record:
        return Record(self.card)

    @property
    def steps(self) -> list[Step]:
        """The record, and for an open question that no agent has waited for it yet."""
        asked, *others = self.record.steps
        was_awaited = self.question.last_seen_at is not None or not self.question.is_open
        unseen = [] if was_awaited else [Step(gettext("No agent has waited for the answer yet"))]
        return [asked, *unseen, *others]

    @property
    def context(self) -> list[tuple[str, str]]:
        """What the agent sent beside its text, such as the folder, with the names it used."""
        return [
            (name, in_plain_text(value)) for name, value in self.question.context.items() if name != "text"
        ]

    @property
    def care(self) -> list[str]:
        """One sentence for each part of the care."""
        care = self.card.care
        if care is None:
            return []
        sentences = []
        if care.first:
            sentences.append(gettext("Asked first: %(names)s.") % {"names": _names(care.first)})
        if care.votes:
            sentences.append(gettext("Matching votes needed: %(count)s.") % {"count": care.votes.needed})
        if care.votes and care.votes.of:
            people = get_text_list(names_of(care.votes.of), gettext("and"))
            sentences.append(gettext("Only %(names)s can vote.") % {"names": people})
        if care.undo_seconds:
            sentences.append(
                gettext("A decision can be undone for %(time)s.") % {"time": duration(care.undo_seconds)}
            )
        if care.escalate_seconds:
            time = duration(care.escalate_seconds)
            sentences.append(gettext("Managers are notified after %(time)s.") % {"time": time})
        return sentences

    @cached_property
    def card_address(self) -> str:
        """The address of the card; empty where this admin gets 404 for it."""
        if not access.may_see(self.user, self.question.room):
            return ""
        return reverse("ask_bridge:question", args=(self.question.room.slug, self.question.pk))

    @property
    def why_no_card(self) -> str:
        if self.card_address:
            return ""
        if self.question.room.archived_at:
            return gettext("The room is archived, so its cards cannot be opened: restore the room first.")
        return gettext("You are not a member of this room, so you cannot open its cards.")

    @property
    def may_answer(self) -> bool:
        question = self.question
        if not self.card_address or not question.is_open or question.is_held or question.is_overdue:
            return False
        if not access.may_answer(self.user, question.room):
            return False
        return locks.lock_on(question, locks.standing_of(self.user, [question.room])) is None

    @property
    def why_no_answer(self) -> str:
        """Why this admin sees the card of an open question but cannot answer it."""
        is_waiting = self.question.is_open and not self.question.is_held
        if not self.card_address or not is_waiting or self.may_answer:
            return ""
        if self.question.is_overdue:
            return gettext("The deadline of this question has passed.")
        return gettext("Other people decide this question; the card says who.")

    @property
    def sentences(self) -> list[str]:
        """Why there is no link to the card or no button to answer."""
        return [sentence for sentence in (self.why_no_card, self.why_no_answer) if sentence]


def _names(first: First) -> str:
    roles = {"manager": gettext("managers"), "member": gettext("members")}
    return get_text_list(
        [*names_of(first.people), *([roles[first.role]] if first.role else [])], gettext("and")
    )


def in_plain_text(value: Any) -> str:
    """A value of JSON as people write it: no brackets, quotes or braces."""
    match value:
        case None:
            return "–"
        case bool():
            return gettext("yes") if value else gettext("no")
        case dict():
            return "; ".join(f"{name}: {in_plain_text(each)}" for name, each in value.items()) or "–"
        case list():
            return ", ".join(map(in_plain_text, value)) or "–"
        case _:
            return str(value)
