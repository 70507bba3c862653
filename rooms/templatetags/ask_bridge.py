"""Filters and tags of our templates."""

from django import template

from rooms import __version__, markup

register = template.Library()

register.filter("inline_markup", markup.inline)
register.filter("markup", markup.blocks)


@register.filter
def initials(name: str) -> str:
    """The first letters of the first and the last word, as on a name badge."""
    words = name.split()
    return "".join(word[0] for word in (words[:1] + words[1:][-1:])).upper()


@register.simple_tag
def version() -> str:
    """Which Ask Bridge this is, for whoever reports a problem."""
    return __version__
