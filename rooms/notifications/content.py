"""The text of a notification, the same for all channels: title, body, link.

All of it is plain text. Agents wrote most of it, so it must never become markup, a header or a command at the
receiver: each channel escapes it as its own format needs.
"""

import unicodedata
from dataclasses import dataclass

from django.urls import reverse
from django.utils.text import Truncator
from django.utils.translation import gettext

from rooms.conf import setting
from rooms.models import Notice, Question, Room
from rooms.rendering import markup
from rooms.rendering.card_content import Card

# Phones show two or three lines; the rest is on the card.
BODY_CHARACTERS = 300
TITLE_CHARACTERS = 120


@dataclass(frozen=True)
class Content:
    """The text of one notification in one language."""

    kind: Notice.Kind
    title: str
    body: str
    path: str
    # Names the question's card, so that a later notification replaces an earlier one; of a test its own id.
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


def content_of(notice: Notice) -> Content:
    """The text of this notice, in the active language."""
    if notice.question:
        return content_about(Notice.Kind(notice.kind), notice.question)
    return test_content(notice.pk, notice.webhook.room if notice.webhook else None)


def content_about(kind: Notice.Kind, question: Question) -> Content:
    """The text of a notification about this question, in the active language."""
    card = Card(question)
    first = card.prompts[0]
    topic = first.header or gettext("Question")
    title = f"{topic} · {question.room.name}"
    if kind == Notice.Kind.ESCALATED:
        title = gettext("Not answered yet: %(title)s") % {"title": title}
    body = card.outcome.text if kind == Notice.Kind.SETTLED else markup.plain(first.prompt.question)
    return Content(
        kind=kind,
        title=one_line(title, TITLE_CHARACTERS),
        body=one_line(body, BODY_CHARACTERS),
        path=reverse("ask_bridge:question", args=(question.room.slug, question.pk)),
        tag=f"card-{question.pk}",
        options=tuple(one_line(option.text, TITLE_CHARACTERS) for option in first.options),
        agent=one_line(question.agent_name, TITLE_CHARACTERS),
        room=one_line(question.room.name, TITLE_CHARACTERS),
    )


def test_content(notice_id: str, room: Room | None) -> Content:
    """The text of a test notification."""
    return Content(
        kind=Notice.Kind.TEST,
        title=gettext("Test from Ask Bridge"),
        body=gettext("Questions from agents will arrive like this."),
        path=reverse("ask_bridge:room", args=(room.slug,)) if room else reverse("ask_bridge:settings"),
        tag=notice_id,
        room=one_line(room.name, TITLE_CHARACTERS) if room else "",
    )


def one_line(text: str, length: int) -> str:
    """The text without line breaks and control characters, shortened to this length."""
    visible = "".join(
        " " if unicodedata.category(character) in ("Cc", "Zl", "Zp") else character for character in text
    )
    return Truncator(" ".join(visible.split())).chars(length)
