"""Template filters and tags."""

from datetime import datetime
from typing import Any

from django import template
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.html import format_html

from rooms import __version__
from rooms.pages import own_files
from rooms.profiles import avatar_token, name_of
from rooms.rendering import humanize, language, markup, times, tones

register = template.Library()

register.filter("inline_markup", markup.inline)
register.filter("markup", markup.blocks)
register.filter("plain", markup.plain)
register.filter("teaser", markup.teaser)
register.filter("duration", humanize.duration)
register.filter("share", humanize.share)
register.filter("grouped", humanize.count)
register.filter("tone", tones.tone_of)
register.filter("clock", times.clock)
register.filter("exact_clock", times.exact_clock)
register.filter("day_and_clock", times.day_and_clock)
register.filter("date_and_clock", times.date_and_clock)
register.filter("exact_date", times.exact_date)


@register.filter
def moment(text: str) -> datetime:
    """Parse a time that is stored as text in JSON."""
    return datetime.fromisoformat(text)


@register.filter
def thousands(number: int) -> str:
    """A number that can be read at a glance: 101,174."""
    return number_format(number, use_l10n=True, force_grouping=True)


@register.filter
def initials(name: str) -> str:
    """The first letters of the first and the last word, as on a name badge."""
    words = name.split()
    return "".join(word[0] for word in (words[:1] + words[1:][-1:])).upper()


register.filter("person_name", name_of)


@register.simple_tag
def avatar(name: str, person: Any = None) -> str:
    """The initials, below the picture of the person with this primary key where the portal has pictures.

    The picture hides the initials once it is there: without one, or if the policy of the portal refuses its
    address, they stay. A card is rendered for many viewers, so the address is looked up later: by `avatar`.
    """
    return _avatar("ab-avatar", initials(name), avatar_token(person))


@register.simple_tag
def portrait(name: str, person: Any = None) -> str:
    """The same, small, beside the name of a person; nothing where the portal has no pictures."""
    token = avatar_token(person)
    # One letter: two would have to be too small to read.
    return _avatar("ab-avatar ab-portrait", initials(name)[:1], token) if token else ""


def _avatar(css_class: str, letters: str, token: str) -> str:
    address = reverse("ask_bridge:avatar", args=(token,)) if token else ""
    picture = format_html('<img src="{}" alt="" loading="lazy">', address) if token else ""
    return format_html('<span class="{}" aria-hidden="true">{}{}</span>', css_class, letters, picture)


register.simple_tag(language.text_language)
register.simple_tag(language.text_direction)

# A file that browsers load only from the origin of the page: `{% own_file "icons.svg" %}`.
register.simple_tag(own_files.address_of, name="own_file")


@register.simple_tag
def version() -> str:
    """The version of Ask Bridge, for bug reports."""
    return __version__
