"""Times of pages: in the zone of the reader's browser, in the format of the language of our texts."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.utils import timezone, translation

from rooms import lifecycle
from rooms.history import writer
from rooms.models import Answer, HistoryEntry, Question
from rooms.rendering import times
from rooms.rendering.language import text_direction, text_language
from rooms.web import TIME_ZONE_COOKIE

WEST, EAST = "America/Los_Angeles", "Pacific/Kiritimati"
# Their clocks are 21 or 22 hours apart: at any moment it is another day there.
ZONES = (WEST, EAST)
MOMENT = datetime(2026, 11, 18, 13, 5, 9, tzinfo=UTC)


@pytest.fixture
def page(browser: Client) -> Callable[..., str]:
    """A page as a browser in this zone gets it."""

    def get(address: str, zone: str = "") -> str:
        browser.cookies[TIME_ZONE_COOKIE] = zone
        response = browser.get(address)
        assert response.status_code == 200
        return b"".join(response).decode()

    return get


@pytest.fixture
def settled(question: Question, ana: Any) -> Question:
    lifecycle.decline(question, ana)
    writer.catch_up()
    return Question.objects.get(pk=question.pk)


def asked_at(question: Question, moment: datetime) -> None:
    Question.objects.filter(pk=question.pk).update(asked_at=moment)


# ---- which zone ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("zone", "clock"), [(WEST, "5:05 a.m. PST"), ("Asia/Tokyo", "10:05 p.m. JST")])
def test_a_card_has_the_zone_of_each_reader(
    page: Callable[..., str], question: Question, zone: str, clock: str
) -> None:
    asked_at(question, MOMENT)
    assert "1:05 p.m. UTC" in page("/rooms/ops")  # it is in the cache now
    assert clock in page("/rooms/ops", zone)
    assert "1:05 p.m. UTC" in page("/rooms/ops")


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "../../etc/passwd", "UTC\x00", "x" * 5000])
def test_a_wrong_zone_is_ignored(page: Callable[..., str], question: Question, zone: str) -> None:
    asked_at(question, MOMENT)
    assert "1:05 p.m. UTC" in page("/rooms/ops", zone)


def test_the_zone_of_the_site_is_used_without_one(
    page: Callable[..., str], question: Question, settings: Any
) -> None:
    asked_at(question, MOMENT)
    settings.TIME_ZONE = "Europe/Berlin"
    assert "2:05 p.m. CET" in page("/rooms/ops")


def test_nothing_of_it_is_left_after_the_page(page: Callable[..., str], question: Question) -> None:
    page("/rooms/ops", EAST)
    assert timezone.get_current_timezone_name() == "UTC"


def test_times_are_converted_without_use_tz_as_well(settings: Any) -> None:
    settings.USE_TZ = False
    with timezone.override("Asia/Tokyo"):
        assert times.clock(MOMENT) == "10:05 p.m. JST"


# ---- days ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zone", ZONES)
def test_today_in_the_inbox_is_the_day_of_the_reader(
    page: Callable[..., str], ask: Callable[..., Question], ana: Any, zone: str
) -> None:
    midnight = datetime.now(ZoneInfo(zone)).replace(hour=0, minute=0, second=0, microsecond=0)
    for moment in (midnight - timedelta(seconds=1), midnight):
        question = ask()
        lifecycle.decline(question, ana)
        Answer.objects.filter(question=question).update(answered_at=moment)
    ask()
    assert "<strong>1</strong> answered by you today" in page("/", zone)


@pytest.mark.parametrize("zone", ZONES)
def test_days_of_the_history_and_of_its_export_are_those_of_the_reader(
    page: Callable[..., str], settled: Question, zone: str
) -> None:
    assert settled.settled_at
    day = settled.settled_at.astimezone(ZoneInfo(zone)).date()
    for address, is_found in (
        (f"since={day}&until={day}", True),
        (f"until={day - timedelta(days=1)}", False),
    ):
        assert (settled.pk in page(f"/history?{address}", zone)) == is_found
        # The file is written while it is sent, after the view has returned.
        assert (settled.pk in page(f"/history/export.json?{address}", zone)) == is_found


@pytest.mark.parametrize(("zone", "weekday", "hour"), [(WEST, 3, 5), ("Asia/Tokyo", 3, 22)])
def test_insights_have_days_and_hours_of_the_reader(
    page: Callable[..., str], settled: Question, zone: str, weekday: int, hour: int
) -> None:
    now = timezone.now()
    wednesday = now - timedelta(days=(now.weekday() - 2) % 7)
    HistoryEntry.objects.update(asked_at=wednesday.replace(hour=13, minute=5))
    exported = json.loads(page("/insights/export.json", zone))
    assert exported["time_zone"] == zone
    assert exported["last_day"] == str(now.astimezone(ZoneInfo(zone)).date())
    busy = [(row["weekday"], row["hour"]) for row in exported["charts"]["hours"] if row["questions"]]
    assert [day for day, _ in busy] == [weekday]
    # In summer an hour later in Los Angeles.
    assert busy[0][1] in (hour, hour + 1)
    assert f"({zone})" in page("/insights", zone)


# ---- language and format ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("en", "en"),
        ("en-gb", "en-gb"),
        ("de", "de"),
        ("de-at", "de-at"),
        ("fr", "en"),
        ("ar", "en"),
        ("pt-br", "en"),
    ],
)
def test_the_language_of_the_texts_is_one_that_has_a_catalogue(language: str, texts: str) -> None:
    with translation.override(language):
        assert (text_language(), text_direction()) == (texts, "ltr")


def test_in_a_german_portal_other_readers_get_german_texts(settings: Any) -> None:
    settings.LANGUAGE_CODE = "de"
    # Django keeps the fallback of a language that was used before; this one is used nowhere else.
    with translation.override("it"):
        assert translation.gettext("Inbox") == "Eingang"
        assert text_language() == "de"


@pytest.mark.parametrize("language", ["fr", "ar"])
def test_a_page_is_marked_as_what_it_is(
    browser: Client, question: Question, settings: Any, language: str
) -> None:
    asked_at(question, MOMENT)
    settings.LANGUAGES = [("en", "English"), ("fr", "Français"), ("ar", "العربية")]
    page = browser.get("/rooms/ops", headers={"Accept-Language": language}).content.decode()
    assert re.search(r'id="ab-layout" lang="en" dir="ltr"', page)
    assert f"language={language}" in page  # of the stream: addresses may begin with it
    assert "Nov. 18, 2026" in page


@pytest.mark.parametrize(
    ("language", "shown"),
    [
        ("en", "Nov. 18, 2026, 1:05:09 p.m. UTC"),
        ("en-gb", "18 Nov 2026, 1:05:09 p.m. UTC"),
        ("de", "18. November 2026, 13:05:09 UTC"),
        ("fr", "Nov. 18, 2026, 1:05:09 p.m. UTC"),
    ],
)
def test_a_date_has_the_format_of_the_language(language: str, shown: str) -> None:
    with translation.override(language):
        assert times.exact_date(MOMENT) == shown


def test_other_formats() -> None:
    assert times.exact_clock(MOMENT) == "1:05:09 p.m. UTC"
    assert times.day_and_clock(MOMENT) == "November 18, 1:05 p.m. UTC"
    assert times.date_and_clock(MOMENT) == "Nov. 18, 2026, 1:05 p.m. UTC"
    assert times.short_day(MOMENT.date()) == "Nov 18"
    assert times.clock(None) == ""
