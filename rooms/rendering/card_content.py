"""Content of a card: a question as one kind of viewer sees it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest

from django.utils.text import get_text_list
from django.utils.translation import gettext

from rooms.contract import ids
from rooms.contract.care import Care, First, care_of, names_group
from rooms.contract.choices import parse_choices
from rooms.contract.forms import Draft, choice_field, other_field
from rooms.contract.prompts import parse_prompts
from rooms.contract.restrictions import Lock
from rooms.contract.votes import Vote, agreeing, decided_choices
from rooms.models import Answer, Question
from rooms.rendering.named_people import names_of
from rooms.rendering.option_memory import memory_of_options
from rooms.rendering.outcome import Outcome
from rooms.rendering.prompts import PromptView, in_words
from rooms.rendering.slots import Slots

# About three lines of a card: a shorter text of the agent is shown whole.
CONTEXT_CHARACTERS = 240


@dataclass(frozen=True)
class Card:
    """A question as one kind of viewer sees it."""

    question: Question
    is_mine: bool = False
    # Why this viewer may not decide it.
    lock: Lock | None = None
    # The user id of this viewer, if they have voted.
    voter: str | None = None
    # The input of this person, if the form was refused.
    drafts: Sequence[Draft] = ()
    # The text of their reply or reason, if that form was refused.
    words: str | None = None
    errors: Sequence[str] = ()
    # Errors of single fields, by field name.
    field_errors: Mapping[str, str] = field(default_factory=dict)
    # They tried to undo a decision that the agent has been sent.
    undo_was_late: bool = False
    # On the page of the question a settled card is fully expanded.
    is_whole: bool = False
    # Whether this viewer may write in the room, and the text of their correction, if it was refused.
    may_write: bool = True
    correction: str = ""

    @property
    def state(self) -> str:
        """The status of the question, or "held" during the undo window."""
        return "held" if self.question.is_held else self.question.status

    @cached_property
    def prompts(self) -> list[PromptView]:
        chosen = parse_choices(self.answer.choices) if self.answer else []
        choices = {choice.question: choice for choice in chosen}
        prompts = parse_prompts(self.question.prompts)
        memory = memory_of_options(prompts, self.question.memories) if self.question.is_open else {}
        return [
            PromptView(
                index,
                prompt,
                choices.get(prompt.question),
                draft,
                self.field_errors.get(other_field(index), ""),
                self.field_errors.get(choice_field(index), ""),
                memory,
            )
            for index, (prompt, draft) in enumerate(zip_longest(prompts, self.drafts))
        ]

    @property
    def lost(self) -> list[str]:
        """The input of this person that came after the decision of another person."""
        if self.question.is_open and not self.question.is_held:
            return []
        chosen = [view.drafted for view in self.prompts if view.draft]
        return [*chosen, self.words] if self.words and self.words.strip() else chosen

    @property
    def lost_text(self) -> str:
        """The same as one text, to be sent as a message."""
        return "\n".join(line for line in self.lost if line)

    @property
    def may_correct(self) -> bool:
        """Whether this viewer can write to the agent about the decision, which cannot be undone any more."""
        return self.may_write and not self.question.is_open

    @cached_property
    def nonce(self) -> str:
        """Recognises a correction that is sent twice; the viewers of a cached card share it."""
        return ids.new_nonce()

    @cached_property
    def answer(self) -> Answer | None:
        """The answer; during the undo window an unsaved one."""
        deciding = self.question.decided_by if self.question.is_held else []
        if not deciding:
            return self.question.answer_or_none
        last = deciding[-1]
        choices, through = decided_choices(deciding), last.get("through", "")
        via = Answer.Via.API if through else Answer.Via.WEB
        return Answer(via=via, through=through, choices=choices, person_name=last["name"])

    @property
    def care(self) -> Care | None:
        return care_of(self.question.care)

    @property
    def asked_first(self) -> list[str]:
        """Who decides until the escalation; empty after it."""
        first = self.care.first if self.care and self.question.escalates_at else None
        return _named(first) if first else []

    @property
    def first_names(self) -> str:
        return get_text_list(self.asked_first, gettext("or"))

    @property
    def is_one_asked_first(self) -> bool:
        """Whether one person decides until the escalation: a role has several."""
        return len(self.asked_first) == 1 and bool(self.care and self.care.first and self.care.first.people)

    @property
    def voters(self) -> str:
        """Who may vote; empty if all people of the room may."""
        of = self.care.votes.of if self.care and self.care.votes else []
        return get_text_list(names_of(of), gettext("and"))

    @property
    def is_unanimous(self) -> bool:
        """Whether all people who may vote have to choose the same."""
        votes = self.care.votes if self.care else None
        return votes is not None and votes.needed == len(votes.of) and not names_group(votes.of)

    @property
    def default(self) -> str:
        """The choice that counts after the deadline, in one line."""
        choices = self.question.default_choices
        return in_words(parse_prompts(self.question.prompts), choices) if choices else ""

    @property
    def deciders(self) -> str:
        """Who may decide, for viewers for whom the card is locked."""
        if self.care and self.lock == Lock.VOTES and self.care.votes:
            return get_text_list(names_of(self.care.votes.of), gettext("and"))
        return get_text_list(_named(self.care.first), gettext("and")) if self.care and self.care.first else ""

    @property
    def slots(self) -> list[Slots]:
        """The votes by choice; only where more than one vote is needed."""
        if self.care is None or self.care.votes is None:
            return []
        needed, prompts = self.care.votes.needed, parse_prompts(self.question.prompts)
        votes = self.question.votes or []
        groups = [agreeing(votes, vote) for vote in votes]
        rows = [
            Slots(
                in_words(prompts, group[0]["choices"]),
                [voter(vote) for vote in group if vote["user_id"] != self.voter],
                any(vote["user_id"] == self.voter for vote in group),
                needed,
            )
            for group, vote in zip(groups, votes, strict=True)
            if group[0] is vote
        ]
        return rows or [Slots("", [], False, needed)]

    @property
    def matching_votes(self) -> int:
        """The most votes for the same choice: these count towards the votes needed."""
        votes = self.question.votes or []
        return max((len(agreeing(votes, vote)) for vote in votes), default=0)

    @property
    def own_vote(self) -> str:
        """What this viewer voted for, in one line."""
        votes = (vote for vote in self.question.votes or () if vote["user_id"] == self.voter)
        prompts = parse_prompts(self.question.prompts)
        return next((in_words(prompts, vote["choices"]) for vote in votes), "")

    @property
    def may_undo(self) -> bool:
        """Whether this viewer can undo the held decision."""
        return self.question.is_held and not self.lock and (self.question.all_may_undo or self.is_mine)

    @property
    def has_several_prompts(self) -> bool:
        return len(self.prompts) > 1

    @property
    def has_long_context(self) -> bool:
        """Whether the text of the agent is folded: more than about three lines."""
        text = self.question.context.get("text", "").strip()
        return len(text) > CONTEXT_CHARACTERS or "\n" in text

    @property
    def sends_on_click(self) -> bool:
        """One prompt, one choice: a click on an option is the answer."""
        return len(self.prompts) == 1 and not self.prompts[0].prompt.multi_select

    @cached_property
    def outcome(self) -> Outcome:
        return Outcome(self.question, self.answer, self.is_mine)

    @property
    def asks_back(self) -> bool:
        return self.outcome.asks_back

    @property
    def was_delivered(self) -> bool:
        return self.question.delivered_at is not None


def _named(first: First) -> list[str]:
    roles = {"manager": gettext("managers"), "member": gettext("members")}
    return [*names_of(first.people), *([roles[first.role]] if first.role else [])]


def voter(vote: Vote) -> str:
    """The name of the voter, and the key if the vote came through one."""
    if "through" not in vote:
        return vote["name"]
    return gettext("%(name)s through %(key)s") % {"name": vote["name"], "key": vote["through"]}
