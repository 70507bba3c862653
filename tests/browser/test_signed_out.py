"""Signed out in another tab: a click shows so on its card, and signing in leads back to it."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.harness.accessibility import expect_no_problems
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import wait_for_still_cards, wait_for_stream

# More than a window shows; with another one they would be rows that open.
QUESTIONS = 3
WINDOW = {"width": 800, "height": 600}


@pytest.fixture
def page(agent: Agent, bridge: Bridge, open_browser: Callable[..., BrowserContext]) -> Page:
    """A long room, opened in a session that no other test needs."""
    for _ in range(QUESTIONS):
        agent.ask()
    context = open_browser("", viewport=WINDOW)
    cookies = bridge.new_person("dora", bridge.site).cookies
    address = f"http://127.0.0.1:{bridge.site.port}"
    context.add_cookies([{"name": name, "value": value, "url": address} for name, value in cookies.items()])
    page = context.new_page()
    page.goto(f"/rooms/{agent.room}")
    wait_for_stream(page)
    return page


def sign_out(page: Page) -> None:
    other = page.context.new_page()
    other.goto("/")
    other.get_by_role("button", name="Sign out").click()
    expect(other.get_by_role("button", name="Sign in")).to_be_visible()
    other.close()
    page.bring_to_front()


def sign_in(page: Page, password: str) -> None:
    page.get_by_label("User name").fill("dora")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def test_a_click_far_down_says_so_beside_itself(page: Page, agent: Agent, password: str) -> None:
    card = page.get_by_role("article").last
    card.scroll_into_view_if_needed()
    sign_out(page)
    wait_for_still_cards(page)
    card.locator(".ab-option").get_by_text("SQLite", exact=True).click()
    alert = card.get_by_role("alert")
    expect(alert).to_contain_text("You are signed out, so nothing was sent")
    link = alert.get_by_role("link", name="Sign in again")
    expect(link).to_be_in_viewport()
    expect(card.get_by_role("radio", name="SQLite")).to_be_checked()

    with page.context.expect_page() as opened:
        link.click()
    sign_in(opened.value, password)
    card_id = card.get_attribute("id")
    expect(opened.value).to_have_url(re.compile(rf"/rooms/{agent.room}#{card_id}$"))
    expect(opened.value.locator(f"#{card_id}")).to_be_in_viewport()
    # Chosen, not sent: the draft came along.
    expect(opened.value.locator(f"#{card_id}").get_by_role("radio", name="SQLite")).to_be_checked()

    page.bring_to_front()
    card.get_by_role("button", name="Retry").click()
    expect(card).to_contain_text("Answered by you")


def test_a_checklist_that_asks_for_news_says_nothing_of_sending(page: Page, agent: Agent) -> None:
    page.goto(f"/rooms/{agent.room}/connect")
    wait_for_stream(page)
    with page.expect_response(lambda reply: "/connect/steps" in reply.url and reply.status == 401):
        sign_out(page)
    # The stream ends at the next look at its session, within ten seconds.
    expect(page.locator("#ab-connection")).to_contain_text("You are signed out", timeout=60_000)
    with page.expect_response(lambda reply: "/connect/steps" in reply.url):
        expect(page.locator("#ab-notice")).to_be_empty()


def test_without_any_cookie_the_page_has_to_be_loaded_again(page: Page, agent: Agent, password: str) -> None:
    page.context.clear_cookies()
    card = page.get_by_role("article").first
    card.locator(".ab-option").get_by_text("SQLite", exact=True).click()
    alert = card.get_by_role("alert")
    expect(alert).to_contain_text("Not sent: this page is out of date")
    expect(alert.get_by_role("button")).to_have_count(0)  # the same page is refused each time
    alert.get_by_role("link", name="Load it again").click()
    sign_in(page, password)
    expect(page).to_have_url(re.compile(rf"/rooms/{agent.room}$"))
    expect(page.get_by_role("article").first.get_by_role("radio", name="SQLite")).to_be_checked()


def test_a_message_keeps_its_words_and_says_so_in_the_composer(page: Page) -> None:
    sign_out(page)
    page.get_by_label("Message the agents").fill("Please hurry")
    page.get_by_role("button", name="Send").click()
    composer = page.locator(".ab-composer")
    expect(composer.get_by_role("link", name="Sign in again")).to_be_in_viewport()
    expect(page.get_by_label("Message the agents")).to_have_value("Please hurry")
    expect_no_problems(page)


def test_what_is_no_form_says_so_in_sight_as_well(page: Page, agent: Agent) -> None:
    for number in range(40):
        agent.send(f"line {number}.")
    page.reload()
    older = page.get_by_role("link", name="Show older entries")
    older.scroll_into_view_if_needed()
    sign_out(page)
    older.click()
    expect(page.locator("#ab-notice").get_by_text("You are signed out")).to_be_in_viewport()
