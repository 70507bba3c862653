"""The History page in a browser: search, filter, export, and what a card remembers."""

import csv
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.harness.accessibility import expect_no_problems
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import wait_for_stream

OpenBrowser = Callable[..., BrowserContext]

ASKED = {
    "Delete the old tables of uploads?": "Keep them",
    "Which database should search use?": "PostgreSQL",
    "Ship the release of billing on Monday?": "Yes, ship it",
}


# Its own: the history has only the questions of this file.
pytestmark = pytest.mark.bridge(rooms=("ops", "docs"))


@pytest.fixture(scope="module", autouse=True)
def answered(bridge: Bridge) -> None:
    agent = bridge.agent()
    for text, label in ASKED.items():
        question = ask(agent, text, label)
        bridge.person("ben").answer(question, label)


def ask(agent: Agent, text: str, label: str = "Yes") -> Any:
    options = [{"label": label}, {"label": "Something else"}]
    return agent.ask(questions=[{"question": text, "options": options}])


@pytest.fixture
def page(open_browser: OpenBrowser) -> Page:
    page = open_browser().new_page()
    page.goto("/history")
    return page


def questions(page: Page) -> Any:
    return page.locator(".ab-result-question")


def test_a_decision_opens_whole_and_leads_back_to_the_search(page: Page) -> None:
    page.get_by_label("Search the history").fill("database")
    expect(questions(page)).to_have_count(1)
    questions(page).click()
    card = page.get_by_role("article")
    # Nothing has to be unfolded: question, options, who and when.
    expect(card.get_by_role("heading", name="Which database should search use?")).to_be_visible()
    expect(card.locator(".ab-settled-option", has_text="Something else")).to_be_visible()
    record = page.get_by_role("region", name="Timeline")
    expect(record).to_contain_text("Answered by Ben Okafor")
    expect(record.locator("time").first).to_have_text(re.compile(r"\d\d:\d\d:\d\d|\d:\d\d:\d\d"))
    expect_no_problems(page)
    page.get_by_role("link", name="Back to the search").click()
    expect(page.get_by_label("Search the history")).to_have_value("database")
    expect(questions(page)).to_have_count(1)


def test_everything_is_there_newest_first_and_leads_to_its_question(page: Page) -> None:
    expect(questions(page)).to_have_text(list(reversed(ASKED)))
    expect(page.get_by_text("3 decisions, newest first")).to_be_visible()
    questions(page).first.click()
    expect(page.get_by_role("article")).to_contain_text("Answered by Ben Okafor")


def test_typing_narrows_it_down_and_the_address_keeps_it(page: Page) -> None:
    page.get_by_role("searchbox").fill("datab")
    expect(questions(page)).to_have_text(["Which database should search use?"])
    expect(page.locator("mark")).to_have_text(["database"])
    expect(page).to_have_url(re.compile("q=datab"))
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.reload()
    expect(questions(page)).to_have_count(1)


def test_filters_work_as_they_are_chosen(page: Page) -> None:
    page.get_by_text("Filters", exact=True).click()
    page.get_by_label("Outcome").select_option("Skipped")
    expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
    page.get_by_label("Outcome").select_option("Answered")
    page.get_by_label("Person").fill("okaf")
    page.get_by_label("Person").press("Enter")
    expect(questions(page)).to_have_count(3)
    page.get_by_role("link", name="Clear the filters").click()
    expect(page).to_have_url(re.compile(r"/history$"))


def test_going_back_finds_the_page_as_it_was(page: Page) -> None:
    page.get_by_role("searchbox").fill("ship")
    expect(questions(page)).to_have_count(1)
    questions(page).first.click()
    expect(page.locator(".ab-card")).to_be_visible()
    page.go_back()
    expect(questions(page)).to_have_count(1)
    expect(page.get_by_role("searchbox")).to_have_value("ship")
    assert (
        page.evaluate("[localStorage, sessionStorage].some((one) => JSON.stringify(one).includes('billing'))")
        is False
    )


def test_it_works_without_javascript(open_browser: OpenBrowser) -> None:
    page = open_browser(java_script_enabled=False).new_page()
    page.goto("/history")
    page.get_by_role("searchbox").fill("tables")
    page.get_by_role("button", name="Search").click()
    expect(questions(page)).to_have_text(["Delete the old tables of uploads?"])
    page.get_by_role("link", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download JSON").click()
    (question,) = json.loads(download.value.path().read_text())
    assert question["answer"]["by"]["username"] == "ben"


def test_an_export_downloads_and_says_when_it_is_done(page: Page) -> None:
    page.get_by_role("link", name="Export").click()
    expect(page.get_by_role("heading", name="3 decisions")).to_be_visible()
    page.wait_for_load_state()  # htmx listens from then on
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    with open(download.value.path(), encoding="utf-8-sig", newline="") as file:
        assert [row["question"] for row in csv.DictReader(file)] == list(reversed(ASKED))
    expect(page.get_by_text("Done: 3 entries.")).to_be_visible()
    expect_no_problems(page)


def test_a_card_remembers_and_stays_open_when_the_agent_comes_and_goes(
    open_browser: OpenBrowser, bridge: Bridge
) -> None:
    agent = Agent(bridge.site, "ops", bridge.keys["ops"])
    page = open_browser().new_page()
    page.goto("/rooms/ops")
    wait_for_stream(page)
    question = ask(agent, "Delete the old tables of `uploads_2`?", "Keep them")
    card = page.locator(f"#card-{question['id']}")
    card.get_by_text("Asked before: 1 similar answer").click()
    expect(card.locator(".ab-memory-chosen")).to_contain_text("Keep them")
    agent.call("GET", f"/api/v1/questions/{question['id']}?wait=0")
    expect(card).to_contain_text("Waiting")
    expect(card.locator(".ab-memory-chosen")).to_be_visible()
    expect_no_problems(page)
    agent.call("DELETE", f"/api/v1/questions/{question['id']}")


def test_the_page_is_accessible(page: Page) -> None:
    page.get_by_text("Filters", exact=True).click()
    expect_no_problems(page)
    page.goto("/history?q=nothing-like-it&state=expired")
    expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
    expect_no_problems(page)


def test_results_are_reached_by_tab_and_the_focus_is_seen(page: Page) -> None:
    page.get_by_role("link", name="Export").focus()
    page.keyboard.press("Tab")
    expect(questions(page).first).to_be_focused()
    outline = page.locator(".ab-result").first.evaluate("(row) => getComputedStyle(row).outlineStyle")
    assert outline == "solid"
