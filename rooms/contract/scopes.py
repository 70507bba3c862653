"""Scopes of an agent key: what it may do in its room. Every active key may read the room."""

from collections.abc import Iterable

from django.db import models
from django.utils.translation import gettext_lazy as _


class Scope(models.TextChoices):
    """One permission of a key; the label says in one line what it allows."""

    ASK = "ask", _("ask: ask, wait, withdraw its own questions, write messages")
    TERMINAL = "terminal", _("terminal: report what a person chose in the terminal, for its own questions")
    ANSWER = "answer", _("answer: answer for named people, such as a chat bot does")


# What an agent at a terminal needs. `answer` has to be chosen: with it a key acts for people.
DEFAULT_SCOPES = (Scope.ASK, Scope.TERMINAL)


def default_scopes() -> list[str]:
    return in_order(DEFAULT_SCOPES)


def in_order(scopes: Iterable[str]) -> list[str]:
    """Each scope once, in the order of definition, as they are stored and shown."""
    given = set(scopes)
    return [scope.value for scope in Scope if scope in given]
