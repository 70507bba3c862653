"""Localised texts of times: in the reader's time zone, in the format of the language of our texts.

Scripts show them in the reader's own form (`times.js`); these are for what they leave alone, and for pages
without scripts.
"""

from datetime import date, datetime

from django.utils.formats import date_format, get_format
from django.utils.translation import override

from rooms.db import timezone
from rooms.rendering.language import text_language

# The zone is named: a reader without scripts gets that of the site.
ZONE = " T"


def clock(at: datetime | None) -> str:
    """Such as "2:05 p.m. UTC"."""
    return _shown(at, "TIME_FORMAT")


def exact_clock(at: datetime | None) -> str:
    """Such as "2:05:09 p.m. UTC"."""
    return _shown(at, "TIME_FORMAT", with_seconds=True)


def day_and_clock(at: datetime | None) -> str:
    """Such as "November 18, 2:05 p.m. UTC"."""
    return _shown(at, "MONTH_DAY_FORMAT", "TIME_FORMAT")


def date_and_clock(at: datetime | None) -> str:
    """Such as "Nov. 18, 2026, 2:05 p.m. UTC"."""
    return _shown(at, "DATE_FORMAT", "TIME_FORMAT")


def exact_date(at: datetime | None) -> str:
    """Such as "Nov. 18, 2026, 2:05:09 p.m. UTC"."""
    return _shown(at, "DATE_FORMAT", "TIME_FORMAT", with_seconds=True)


def short_day(day: date) -> str:
    """Such as "Nov 18", for charts."""
    with override(text_language()):
        return date_format(day, get_format("MONTH_DAY_FORMAT").replace("F", "M"))


def _shown(at: datetime | None, *formats: str, with_seconds: bool = False) -> str:
    if not at:
        return ""
    # Not left to templates, which with `USE_TZ = False` convert nothing.
    local = at.astimezone(timezone.get_current_timezone())
    with override(text_language()):
        parts = [get_format(name) for name in formats]
        if with_seconds:
            parts[-1] = parts[-1].replace("P", "g:i a").replace("i", "i:s")
        return date_format(local, ", ".join(parts) + ZONE)
