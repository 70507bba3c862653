"""What a notice says, for whichever way it goes: a headline, a text, a link.

All of it is plain text. Agents wrote most of it, so nothing here may become markup, a header or a command on
the other side: each way escapes it as its own format needs.
"""

import unicodedata
from dataclasses import dataclass

from django.urls import reverse
from django.utils.text import Truncator
from django.utils.translation import gettext

from rooms.conf import setting
from rooms.models import Notice, Question, Room
from rooms.rendering import markup
from rooms.rendering.cards import Card

# Phones show two or three lines; the rest is on the card.
BODY_CHARACTERS = 300
TITLE_CHARACTERS = 120


@dataclass(frozen=True)
class Letter:
    """One notice in the words of one language."""

    kind: Notice.Kind
    title: str
    body: str
    path: str
    # The card of the question, so that what follows replaces what came before; of a test itself.
    tag: str
    options: tuple[str, ...] = ()
    agent: str = ""
    room: str = ""

    @property
    def address(self) -> str:
        return setting("ORIGIN") + self.path

    @property
    def is_over(self) -> bool:
        return self.kind == Notice.Kind.SETTLED


def letter_about(kind: Notice.Kind, question: Question) -> Letter:
    """In the language that is active."""
    card = Card(question)
    named = {"room": question.room.name, "agent": question.agent_name}
    first = card.prompts[0]
    topic = first.header or gettext("Question")
    title = f"{topic} · {question.room.name}"
    if kind == Notice.Kind.ESCALATED:
        title = gettext("Not answered yet: %(title)s") % {"title": title}
    body = card.outcome if kind == Notice.Kind.SETTLED else markup.plain(first.prompt.question)
    return Letter(
        kind=kind,
        title=one_line(title, TITLE_CHARACTERS),
        body=one_line(body, BODY_CHARACTERS),
        path=reverse("ask_bridge:question", args=(question.room.slug, question.pk)),
        tag=f"card-{question.pk}",
        options=tuple(one_line(option.text, TITLE_CHARACTERS) for option in first.options),
        agent=one_line(named["agent"], TITLE_CHARACTERS),
        room=one_line(named["room"], TITLE_CHARACTERS),
    )


def letter_to_try(notice_id: str, room: Room | None) -> Letter:
    """What somebody sends to see whether it arrives."""
    return Letter(
        kind=Notice.Kind.TEST,
        title=gettext("Test from Ask Bridge"),
        body=gettext("Questions from agents will arrive like this."),
        path=reverse("ask_bridge:room", args=(room.slug,)) if room else reverse("ask_bridge:settings"),
        tag=notice_id,
        room=one_line(room.name, TITLE_CHARACTERS) if room else "",
    )


def one_line(text: str, length: int) -> str:
    """Without line breaks and other characters that steer instead of being read."""
    visible = "".join(
        " " if unicodedata.category(character) in ("Cc", "Zl", "Zp") else character for character in text
    )
    return Truncator(" ".join(visible.split())).chars(length)
