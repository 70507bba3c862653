"""Times on pages: in the zone of the reader's browser, and in the form of the reader's country."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import BrowserContext, expect

from rooms.web import TIME_ZONE_COOKIE
from tests.harness.agents import Agent

ZONE = "Asia/Tokyo"
# Without the month, whose short names differ between versions of the browser.
FORMS = {"en-GB": r"^%-d \w+ %Y, %H:%M:%S$", "en-US": r"^\w+ %-d, %Y, %-I:%M:%S\s%p$"}


@pytest.mark.parametrize("locale", FORMS)
def test_a_time_is_shown_in_the_zone_and_form_of_the_reader(
    agent: Agent, open_browser: Callable[..., BrowserContext], locale: str
) -> None:
    question = agent.ask()
    page = open_browser("ana", locale=locale, timezone_id=ZONE).new_page()
    page.goto(question["url"])
    asked = datetime.fromisoformat(question["asked_at"]).astimezone(ZoneInfo(ZONE))
    expect(page.locator("time.ab-exact").first).to_have_text(re.compile(asked.strftime(FORMS[locale])))


# A year stands there only in the last days of another one.
DEADLINES = {"en-GB": r"^%-d \w+(?: \d{4})?, %H:%M$", "en-US": r"^\w+ %-d(?:, \d{4})?, %-I:%M\s%p$"}


@pytest.mark.parametrize("locale", DEADLINES)
def test_a_clock_time_of_tomorrow_has_its_day(
    agent: Agent, open_browser: Callable[..., BrowserContext], locale: str
) -> None:
    """At 10:15 "until 10:12" would be over."""
    now = datetime.now(ZoneInfo(ZONE))
    expires = now.replace(hour=9, minute=0, second=30) + timedelta(days=1)
    question = agent.ask(timeout_seconds=int((expires - now).total_seconds()))
    page = open_browser("ana", locale=locale, timezone_id=ZONE).new_page()
    page.clock.set_fixed_time(expires - timedelta(hours=20))
    page.goto(question["url"])
    expect(page.locator("time.ab-deadline")).to_have_text(re.compile(expires.strftime(DEADLINES[locale])))


def test_the_server_learns_the_zone_for_our_pages_only(
    agent: Agent, open_browser: Callable[..., BrowserContext]
) -> None:
    agent.ask()
    context = open_browser("ana", timezone_id=ZONE)
    address = f"/rooms/{agent.room}"
    assert " JST" not in context.request.get(address).text()
    context.new_page().goto(address)
    assert " JST" in context.request.get(address).text()
    (cookie,) = [cookie for cookie in context.cookies() if cookie["name"] == TIME_ZONE_COOKIE]
    # The path of our pages, which in a portal is below that of others.
    assert (cookie["value"], cookie["path"]) == (ZONE, "/")
