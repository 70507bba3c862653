"""HTML of question cards and messages, cached per revision, language, time zone and kind of viewer.

There are few kinds of viewer: the person who answered ("Answered by you") and all others; people who may
decide an open question, those of them who have voted, and people for whom it is locked, for one of three
reasons.

The form of an open card has a placeholder for the CSRF token of the page that shows it. Streams leave it
empty, because with JavaScript the token is sent in a header. Corrections have a placeholder, too: a decided
card gets more of them without a new revision.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from typing import Any

from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import get_text_list
from django.utils.translation import get_language, gettext

from rooms.contract import ids
from rooms.contract.care import Care, First, care_of, names_group
from rooms.contract.choices import Choice, parse_choices
from rooms.contract.forms import Draft, choice_field, other_field
from rooms.contract.prompts import Option, Prompt, parse_prompts
from rooms.contract.restrictions import Lock
from rooms.contract.votes import Vote, agreeing, decided_choices
from rooms.db import timezone
from rooms.models import Answer, EndReason, Message, Question
from rooms.rendering import markup
from rooms.rendering.cache import RenderCache
from rooms.rendering.named_people import names_of
from rooms.rendering.option_memory import OptionMemory, memory_of_options
from rooms.rendering.slots import Slots

# About three lines of a card: a shorter text of the agent is shown whole.
CONTEXT_CHARACTERS = 240
CSRF_PLACE = "<!-- csrf token -->"
CORRECTIONS_PLACE = "<!-- corrections -->"

# What open pages show. A card has about 5 KB; most messages have 1 KB, the largest about 150 KB.
rendered_cards = RenderCache(2_000)
rendered_marks = RenderCache(2_000)
rendered_messages = RenderCache(500)


# ---- what a card shows -----------------------------------------------------------------------------------


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
        """Who decides until the escalation; nobody in particular after it."""
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

    @property
    def outcome(self) -> str:
        """How the question ended, as a text that needs no colour or icon."""
        if len(self.question.decided_by) > 1:
            names = ", ".join(vote["name"] for vote in self.question.decided_by)
            return gettext("Decided by %(names)s") % {"names": names}
        if self.question.is_held:
            return self._answered_by
        match self.question.status:
            case Question.Status.ANSWERED if self.answer and self.answer.via == Answer.Via.TERMINAL:
                return gettext("Answered in the terminal")
            case Question.Status.ANSWERED if self._person:
                return self._answered_by
            case Question.Status.ANSWERED:
                return gettext("Answered by the agent")
            case Question.Status.DECLINED if self.asks_back:
                return self._decided_by(gettext("Asked back by you"), gettext("Asked back by %(name)s"))
            case Question.Status.DECLINED:
                return self._decided_by(gettext("Skipped by you"), gettext("Skipped by %(name)s"))
            case Question.Status.EXPIRED if self.answer:
                return gettext("Expired, default used")
            case _:
                return self._ending

    @property
    def _ending(self) -> str:
        """How the question ended without a decision."""
        ended = self.question.why_ended
        match ended and ended["reason"]:
            case EndReason.DEADLINE:
                return gettext("Expired without an answer")
            case EndReason.NO_AGENT_WAITING:
                return gettext("Closed: no agent was waiting")
            case EndReason.ROOM_ARCHIVED:
                return gettext("Closed: the room was archived")
            case EndReason.PERSON if ended and ended["by"]:
                return gettext("Withdrawn by %(name)s") % ended["by"]
            case EndReason.PERSON:
                return gettext("Withdrawn by an admin")
            case EndReason.AGENT:
                return gettext("Withdrawn by the agent")
            case _:
                return ""

    @property
    def _person(self) -> str:
        return self.answer.person_name if self.answer else ""

    @property
    def portrayed(self) -> tuple[str, str] | None:
        """The name and primary key of the one person whom the outcome names, for their picture."""
        user_id = answerer_of(self.question)
        if user_id is None or len(self.question.decided_by) > 1 or self._is_of_the_terminal:
            return None
        return self._person, user_id

    @property
    def _is_of_the_terminal(self) -> bool:
        return self.answer is not None and self.answer.via == Answer.Via.TERMINAL

    @property
    def _answered_by(self) -> str:
        """Names the person, and the key if the answer came through one."""
        through = self.answer.through if self.answer else ""
        if not through:
            return self._decided_by(gettext("Answered by you"), gettext("Answered by %(name)s"))
        mine, theirs = (
            gettext("Answered by you through %(key)s"),
            gettext("Answered by %(name)s through %(key)s"),
        )
        return (mine if self.is_mine else theirs) % {"name": self._person, "key": through}

    def _decided_by(self, mine: str, theirs: str) -> str:
        return mine if self.is_mine else theirs % {"name": self._person}

    @property
    def asks_back(self) -> bool:
        return self.answer is not None and self.answer.asks_back

    @property
    def icon(self) -> str:
        if self.asks_back:
            return "reply"
        if self.answer and self.answer.via == Answer.Via.TERMINAL:
            return "terminal"
        ended = self.question.why_ended
        if ended and ended["reason"] in (EndReason.NO_AGENT_WAITING, EndReason.ROOM_ARCHIVED):
            return "closed"
        return {
            "held": "clock",
            "answered": "check",
            "declined": "skip",
            "expired": "clock",
            "withdrawn": "undo",
        }[self.state]

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


def in_words(prompts: list[Prompt], choices: list[dict[str, Any]]) -> str:
    """What was chosen for all prompts, in one line."""
    views = [
        PromptView(index, prompt, choice)
        for index, (prompt, choice) in enumerate(zip(prompts, parse_choices(choices), strict=True))
    ]
    return " · ".join(view.summary for view in views)


# ---- rendering -------------------------------------------------------------------------------------------


def render_card(
    question: Question,
    user_id: Any = None,
    csrf_token: str = "",
    *,
    lock: Lock | None = None,
    may_write: bool = True,
    corrections: Sequence[Message] = (),
) -> SafeString:
    """The card for this viewer; with a token its form also works without JavaScript."""
    is_mine, voter_id = _is_mine(question, user_id), _voter_id(question, user_id)
    html = rendered_cards.get_or_render(
        (*_cache_key(question), is_mine, lock, voter_id, may_write),
        lambda: _render(Card(question, is_mine, lock, voter_id, may_write=may_write)),
    )
    return _with_token(html, csrf_token, corrections)


def render_marks(question: Question, lock: Lock | None = None, voter_id: str | None = None) -> SafeString:
    """The status of an open card, or whether the agent has received the answer."""
    return rendered_marks.get_or_render(
        (*_cache_key(question), lock, voter_id),
        lambda: render_to_string(
            "ask_bridge/_card_marks.html", {"card": Card(question, lock=lock, voter=voter_id)}
        ),
    )


def render_memory(question: Question) -> SafeString:
    """What was chosen for similar questions: the list under the card, and the line of each option."""
    return render_to_string("ask_bridge/_card_memory.html", {"card": Card(question), "is_alone": True})


def render_whole(card: Card, csrf_token: str = "", corrections: Sequence[Message] = ()) -> SafeString:
    """The card on the page of its question."""
    return _with_token(_render(card), csrf_token, corrections)


def card_of(question: Question, user_id: Any, lock: Lock | None = None, *, may_write: bool = True) -> Card:
    """The question as this person sees it on its own page."""
    is_settled = not question.is_open or question.is_held
    return Card(
        question,
        _is_mine(question, user_id),
        lock,
        _voter_id(question, user_id),
        is_whole=is_settled,
        may_write=may_write,
    )


def render_corrections(card: Card, corrections: Sequence[Message], *, is_sent: bool = False) -> SafeString:
    """The part of a decided card with its corrections and the form for the next one."""
    context = {
        "card": card,
        "csrf_place": "",
        "corrections_place": SafeString(CORRECTIONS_PLACE),
        "is_sent": is_sent,
    }
    return _with_token(render_to_string("ask_bridge/_card_corrections.html", context), "", corrections)


def render_correction(message: Message) -> SafeString:
    """One correction in the list of a card."""
    return render_to_string("ask_bridge/_correction.html", {"message": message})


def render_draft(
    question: Question,
    errors: Sequence[str],
    csrf_token: str,
    drafts: Sequence[Draft] = (),
    words: str | None = None,
    *,
    field_errors: Mapping[str, str],
) -> SafeString:
    """An open card with the input and its errors."""
    card = Card(question, drafts=drafts, words=words, errors=errors, field_errors=field_errors)
    return _with_token(_render(card), csrf_token)


def render_errors(question: Question, errors: Sequence[str], field_errors: Mapping[str, str]) -> SafeString:
    """Only the errors, for their elements in an open card."""
    card = Card(question, errors=errors, field_errors=field_errors)
    return render_to_string("ask_bridge/_card_errors.html", {"errors": errors, "card": card})


def render_lost(
    question: Question,
    user_id: Any,
    drafts: Sequence[Draft] = (),
    words: str | None = None,
    csrf_token: str = "",
    *,
    corrections: Sequence[Message] = (),
) -> SafeString:
    """A decided card that also shows the input that came too late."""
    html = _render(Card(question, _is_mine(question, user_id), drafts=drafts, words=words))
    return _with_token(html, csrf_token, corrections)


def render_message(message: Message) -> SafeString:
    # A message has no revision, so the key has all of its fields; a correction has a link into its room.
    fields = (getattr(message, field.attname) for field in Message._meta.concrete_fields)
    slug = message.room.slug if message.question_id else ""
    return rendered_messages.get_or_render(
        (*fields, slug, get_language(), timezone.get_current_timezone_name()),
        lambda: render_to_string("ask_bridge/_message.html", {"message": message}),
    )


def _cache_key(question: Question) -> tuple[Any, ...]:
    # The name and slug of the room are on the card, and can change without a new revision.
    room, zone = question.room, timezone.get_current_timezone_name()
    return question.pk, question.revision, room.slug, room.name, get_language(), zone


def _render(card: Card) -> SafeString:
    places = {"csrf_place": SafeString(CSRF_PLACE), "corrections_place": SafeString(CORRECTIONS_PLACE)}
    return render_to_string("ask_bridge/_card.html", {"card": card, **places})


def _with_token(html: str, csrf_token: str = "", corrections: Sequence[Message] = ()) -> SafeString:
    """The HTML with its token and corrections in their places."""
    token = format_html('<input type="hidden" name="csrfmiddlewaretoken" value="{}">', csrf_token)
    lines = "".join(render_correction(message) for message in corrections)
    html = html.replace(CSRF_PLACE, token if csrf_token else "").replace(CORRECTIONS_PLACE, lines)
    return mark_safe(html)  # noqa: S308 - all parts are escaped


def _is_mine(question: Question, user_id: Any) -> bool:
    return user_id is not None and str(user_id) == answerer_of(question)


def _voter_id(question: Question, user_id: Any) -> str | None:
    """The id of this person as text, if they have voted on an open question."""
    voters = [vote["user_id"] for vote in question.votes or ()] if question.is_open else []
    return str(user_id) if user_id is not None and str(user_id) in voters else None


def answerer_of(question: Question) -> str | None:
    """The id of the person who answered, as text; during the undo window of the person who decided."""
    if question.is_held:
        return question.decided_by[-1]["user_id"]
    answer = question.answer_or_none
    return None if answer is None or answer.user_id is None else str(answer.user_id)
