"""With `USE_TZ = False` times stay aware, also in the hour that comes twice when the clocks change."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone as django_timezone

from rooms.db import timezone
from rooms.db.fields import MomentField

ZONE = ZoneInfo("America/New_York")
# Both are 01:30 on the clock: before and after the change.
FIRST = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
SECOND = FIRST + timedelta(hours=1)


@pytest.fixture(autouse=True)
def naive(settings: Any) -> None:
    settings.USE_TZ = False
    settings.TIME_ZONE = str(ZONE)
    assert django_timezone.get_default_timezone() == ZONE


@pytest.mark.parametrize("vendor", ["sqlite", "mysql"])
def test_both_hours_are_stored_and_read_as_they_were(vendor: str) -> None:
    connection = SimpleNamespace(vendor=vendor)
    stored = [timezone.to_database(moment, connection) for moment in (FIRST, SECOND)]
    assert [moment.tzinfo for moment in stored] == [None, None]
    read = [timezone.from_database(moment, connection) for moment in stored]
    assert [moment.astimezone(UTC) for moment in read if moment] == [FIRST, SECOND]
    assert {f"{moment:%H:%M}" for moment in read if moment} == {"01:30"}


def test_postgresql_gives_local_times_that_know_which_hour_they_are_in() -> None:
    connection = SimpleNamespace(vendor="postgresql")
    assert timezone.to_database(FIRST, connection) is FIRST
    for moment in (FIRST, SECOND):
        # What Django's loader makes of it: the zone goes, `fold` stays.
        naive = moment.astimezone(ZONE).replace(tzinfo=None)
        read = timezone.from_database(naive, connection)
        assert read
        assert read.astimezone(UTC) == moment


def test_now_is_aware_and_shown_in_the_zone_of_the_portal() -> None:
    now = timezone.now()
    assert now.tzinfo == ZONE
    assert abs(now - datetime.now(UTC)) < timedelta(minutes=1)
    assert timezone.localtime().tzinfo == ZONE


def test_a_time_of_a_form_is_in_that_zone() -> None:
    assert MomentField().to_python("2026-07-01 12:00") == datetime(2026, 7, 1, 16, tzinfo=UTC)
    assert MomentField().to_python(None) is None


def test_migrations_see_an_ordinary_field() -> None:
    _, path, _, options = MomentField(default=timezone.now).deconstruct()
    assert (path, options) == ("django.db.models.DateTimeField", {"default": django_timezone.now})
