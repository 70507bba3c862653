"""Filters of our templates."""

from django import template

from rooms import markup

register = template.Library()

register.filter("inline_markup", markup.inline)
register.filter("markup", markup.blocks)
