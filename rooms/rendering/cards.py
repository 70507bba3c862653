"""HTML of question cards and messages, cached per revision, language, time zone and kind of viewer.

There are few kinds of viewer: the person who answered ("Answered by you") and all others; people who may
decide an open question, those of them who have voted, and people for whom it is locked, for one of three
reasons.

The form of an open card has a placeholder for the CSRF token of the page that shows it. Streams leave it
empty, because with JavaScript the token is sent in a header. Corrections have a placeholder, too: a decided
card gets more of them without a new revision.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from rooms.contract.forms import Draft
from rooms.contract.restrictions import Lock
from rooms.db import timezone
from rooms.models import Message, Question
from rooms.rendering.cache import RenderCache
from rooms.rendering.card_content import Card
from rooms.rendering.outcome import answerer_of

CSRF_PLACE = "<!-- csrf token -->"
CORRECTIONS_PLACE = "<!-- corrections -->"

# What open pages show. A card has about 5 KB; most messages have 1 KB, the largest about 150 KB.
rendered_cards = RenderCache(2_000)
rendered_marks = RenderCache(2_000)
rendered_messages = RenderCache(500)


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
    undo_was_late: bool = False,
) -> SafeString:
    """A decided card that also shows what came too late: input, or an undo."""
    is_mine = _is_mine(question, user_id)
    card = Card(question, is_mine, drafts=drafts, words=words, undo_was_late=undo_was_late)
    html = _render(card)
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
