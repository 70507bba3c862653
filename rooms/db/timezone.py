"""`django.utils.timezone` for this app, whose times are aware also in a portal with `USE_TZ = False`.

Such a portal has naive local times, which cannot tell the hour before a change of the clocks from the hour
after it: leases and deadlines would be an hour wrong, and the digest of an audit entry would not match. So
these databases store naive UTC for us; PostgreSQL stores moments in any case. See `rooms/db/fields.py`.
"""

from datetime import UTC, date, datetime
from functools import cache
from typing import Any
from zoneinfo import available_timezones

from django.conf import settings
from django.utils import timezone as django_timezone
from django.utils.timezone import (
    get_current_timezone,
    get_current_timezone_name,
    get_default_timezone,
    get_default_timezone_name,
    make_aware,
    override,
)

__all__ = [
    "from_database",
    "get_current_timezone",
    "get_current_timezone_name",
    "get_default_timezone",
    "get_default_timezone_name",
    "localdate",
    "localtime",
    "make_aware",
    "names",
    "now",
    "override",
    "to_database",
]


@cache
def names() -> frozenset[str]:
    """All names of time zones: "Europe/Berlin", also former ones, which some browsers send."""
    return frozenset(available_timezones())


def now() -> datetime:
    """The time, aware: in UTC as Django has it, or in the portal's zone."""
    return django_timezone.now() if settings.USE_TZ else datetime.now(get_default_timezone())


def localtime() -> datetime:
    return django_timezone.localtime(now())


def localdate() -> date:
    return localtime().date()


def from_database(value: datetime | None, connection: Any) -> datetime | None:
    """An aware time from what Django made of the column."""
    if value is None or settings.USE_TZ:
        return value
    if connection.vendor == "postgresql":
        # Converted to the zone of the connection, with `fold` in the hour that comes twice.
        return value.replace(tzinfo=get_default_timezone())
    return value.replace(tzinfo=UTC).astimezone(get_default_timezone())


def to_database(value: datetime, connection: Any) -> datetime:
    """An aware time for Django's backends, which without `USE_TZ` take naive ones except on PostgreSQL."""
    if settings.USE_TZ or connection.vendor == "postgresql" or django_timezone.is_naive(value):
        return value
    return value.astimezone(UTC).replace(tzinfo=None)
