"""Template filters and tags."""

from datetime import datetime

from django import template
from django.utils.formats import number_format

from rooms import __version__
from rooms.rendering import humanize, markup

register = template.Library()

register.filter("inline_markup", markup.inline)
register.filter("markup", markup.blocks)
register.filter("plain", markup.plain)
register.filter("teaser", markup.teaser)
register.filter("duration", humanize.duration)
register.filter("share", humanize.share)
register.filter("grouped", humanize.count)


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


@register.simple_tag
def version() -> str:
    """The version of Ask Bridge, for bug reports."""
    return __version__
