"""Localised texts for durations, percentages and counts."""

from django.utils.formats import number_format
from django.utils.translation import gettext

MINUTE, HOUR, DAY = 60, 3_600, 86_400
# Durations below this are shown with tenths of a second.
TENTHS_UP_TO = 10


def duration(seconds: float) -> str:
    """Such as "3 min 20 s": two units at most."""
    if 0.05 <= seconds < TENTHS_UP_TO - 0.05:
        return gettext("%(seconds)s s") % {"seconds": number_format(round(seconds, 1))}
    if seconds < MINUTE - 0.5:
        return gettext("%(seconds)s s") % {"seconds": round(seconds)}
    # Rounded first: 59 min 59.7 s is an hour.
    if (whole := round(seconds)) < HOUR:
        minutes, rest = divmod(whole, MINUTE)
        if not rest:
            return gettext("%(minutes)s min") % {"minutes": minutes}
        return gettext("%(minutes)s min %(seconds)s s") % {"minutes": minutes, "seconds": rest}
    if (whole := round(seconds / MINUTE) * MINUTE) < DAY:
        hours, rest = divmod(whole, HOUR)
        if not rest:
            return gettext("%(hours)s h") % {"hours": hours}
        return gettext("%(hours)s h %(minutes)s min") % {"hours": hours, "minutes": rest // MINUTE}
    days, rest = divmod(round(seconds / HOUR) * HOUR, DAY)
    named = {"days": count(days), "hours": rest // HOUR}
    if not rest:
        return gettext("%(days)s d") % named
    return gettext("%(days)s d %(hours)s h") % named


def share(part: float) -> str:
    """Such as "80%". 0% and 100% are exact: anything between is rounded to 1% to 99%."""
    number = round(100 * part)
    if 0 < part < 1:
        number = min(max(number, 1), 99)
    return gettext("%(number)s%%") % {"number": number}


def count(number: int) -> str:
    """Such as "12,000"."""
    return number_format(number, force_grouping=True)
