"""Filters of our templates."""

from django import template

from rooms import markup

register = template.Library()

register.filter("inline_markup", markup.inline)
register.filter("markup", markup.blocks)


@register.filter
def initials(name: str) -> str:
    """The first letters of the first and the last word, as on a name badge."""
    words = name.split()
    return "".join(word[0] for word in (words[:1] + words[1:][-1:])).upper()
