"""Insights on a real page: readable in both schemes, on phone and desk, and without any JavaScript."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.harness.accessibility import expect_no_problems
from tests.harness.bridges import Bridge
from tests.harness.pages import resize
from tests.harness.sites import run_manage

OpenBrowser = Callable[..., BrowserContext]

# Runs in the site's own environment: half a year, with days on which nothing happened.
FILL = """
from datetime import timedelta
from random import Random
from django.contrib.auth import get_user_model
from django.utils import timezone
from rooms.models import Room
from tests.harness.history_entries import entry, random_entries, store
now, random = timezone.now(), Random(1)
people = list(get_user_model().objects.order_by("pk")[:3])
rooms = list(Room.objects.filter(slug__in=["ops", "docs"]))
store(random_entries(rooms, people, 300, now - timedelta(days=180), now, random))
store([entry(rooms[0], now, 75, agent_name="an agent with a name as long as anybody’s patience with names")])
"""


# Its own: it counts only the entries of this file.
pytestmark = pytest.mark.bridge(rooms=("ops", "docs", "quiet"))


@pytest.fixture(scope="module", autouse=True)
def entries(bridge: Bridge) -> None:
    done = run_manage(bridge.environment, "shell", "-v0", "-c", FILL)
    assert done.returncode == 0, done.stderr


def open_tables(page: Page) -> None:
    for summary in page.get_by_text("Show as a table").all():
        summary.click()


@pytest.mark.parametrize("days", [7, 30, 90, 364])
def test_every_period_is_readable_everywhere(open_browser: OpenBrowser, days: int) -> None:
    page = open_browser().new_page()
    page.goto(f"/insights?days={days}")
    expect(page.get_by_role("heading", name="Time to answer")).to_be_visible()
    expect(page.locator(".ab-chart[role=img]")).to_have_count(4)
    expect_no_problems(page)


def test_tables_and_the_page_of_a_room_are_readable_everywhere(open_browser: OpenBrowser) -> None:
    page = open_browser().new_page()
    page.goto("/rooms/ops/insights?days=90")
    open_tables(page)
    expect(page.get_by_role("region", name="How questions ended, as a table")).to_be_visible()
    expect_no_problems(page)


def test_a_quiet_room_says_so(open_browser: OpenBrowser) -> None:
    page = open_browser().new_page()
    page.goto("/rooms/quiet/insights")
    expect(page.get_by_role("heading", name="No questions were settled in the last 30 days")).to_be_visible()
    expect_no_problems(page)


def test_everything_works_without_javascript(open_browser: OpenBrowser) -> None:
    page = open_browser(java_script_enabled=False).new_page()
    page.goto("/")
    page.get_by_role("link", name="Insights", exact=True).click()
    expect(page.get_by_role("link", name="Insights", exact=True)).to_have_attribute("aria-current", "page")
    page.get_by_role("button", name="A year").click()
    expect(page.get_by_role("button", name="A year")).to_have_attribute("aria-current", "true")
    page.get_by_label("Room", exact=True).select_option("docs")
    page.get_by_role("button", name="Show").click()
    # The period stays.
    expect(page).to_have_url(re.compile(r"/rooms/docs/insights\?days=364$"))
    page.get_by_text("Show as a table").first.click()
    table = page.get_by_role("region", name="Time to answer, as a table").get_by_role("row")
    expect(table).to_have_count(53)
    with page.expect_download() as download:
        page.get_by_role("link", name="Agents as CSV").click()
    assert download.value.suggested_filename.startswith("insights-docs-agents-")


def test_no_text_in_a_chart_lies_on_another(open_browser: OpenBrowser) -> None:
    page = open_browser().new_page()
    overlapping = """() => [...document.querySelectorAll(".ab-chart")].flatMap((chart) => {
        const texts = [...chart.querySelectorAll("text")].filter((text) => text.checkVisibility())
            .map((text) => ({text: text.textContent, box: text.getBoundingClientRect()}));
        return texts.flatMap((one, index) => texts.slice(index + 1)
            .filter(({box}) => box.left < one.box.right && one.box.left < box.right
                && box.top < one.box.bottom && one.box.top < box.bottom)
            .map((other) => `${one.text} on ${other.text}`));
    })"""
    for width in (320, 390, 800, 1000, 1130, 1200, 1280):
        resize(page, width, 900)
        for days in (7, 30, 90, 364):
            page.goto(f"/insights?days={days}")
            assert page.evaluate(overlapping) == [], f"{days} days on {width} px"
