"""Open cards of the inbox and of a room: the first ones, and more on demand."""

from typing import Any

from django.http import HttpRequest
from django.middleware.csrf import get_token

from rooms.access import locks
from rooms.models import QuestionQuerySet
from rooms.rendering import cards

# The number of open cards that a page shows at first (more than a person reads at once), and at most.
OPEN_CARDS = 100
MOST_OPEN_CARDS = 1_000


def open_cards(request: HttpRequest, questions: QuestionQuerySet, standing: locks.Standing) -> dict[str, Any]:
    """Template context with the first cards rendered; `?show=200` shows more."""
    count = min(max(number_in(request, "show") or 0, OPEN_CARDS), MOST_OPEN_CARDS)
    token = get_token(request)
    return {
        "cards": [
            cards.render_card(question, request.user.pk, token, lock=locks.lock_on(question, standing))
            for question in questions[:count]
        ],
        "open_total": questions.count(),
        "open_shown": count,
        "open_next": count + OPEN_CARDS if count < MOST_OPEN_CARDS else None,
    }


def number_in(request: HttpRequest, name: str) -> int | None:
    """A query parameter as a number; None if it is missing or not a number."""
    return number(request.GET.get(name, ""))


def number(text: str) -> int | None:
    """A text as a number; None if it is not one."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None
