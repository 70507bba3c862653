"""The composer at the lower edge of a room: nothing covers it, and what was sent is confirmed in it."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.gallery import PREVIEWS
from tests.harness.accessibility import expect_no_problems
from tests.harness.agents import Agent
from tests.harness.pages import resize

# What is on top at a grid of points over the composer, wherever the page is scrolled to.
COVERED = """() => {
    const composer = document.querySelector(".composer");
    const found = new Set();
    for (let top = 0; top <= document.body.scrollHeight; top += innerHeight / 4) {
        scrollTo({ top, behavior: "instant" });
        const { left, right, top: upper, bottom } = composer.getBoundingClientRect();
        for (let x = left + 8; x < right - 8; x += 12) {
            for (let y = upper + 8; y < bottom - 8; y += 8) {
                const above = document.elementFromPoint(x, y);
                if (!composer.contains(above)) found.add(above?.className ?? "nothing");
            }
        }
    }
    return [...found];
}"""


@pytest.mark.parametrize("width", [320, 800, 1000, 1280, 1920])
def test_a_preview_never_covers_the_composer(
    agent: Agent, room_page: Callable[..., Page], width: int
) -> None:
    for _ in range(3):
        agent.ask(questions=[PREVIEWS])
    page = room_page()
    resize(page, width, 600)
    # The preview of a chosen option, of a hovered one, of the first one.
    page.get_by_role("radio", name="Wide").first.focus()
    page.keyboard.press("Space")
    page.locator(".option", has_text="Words").nth(1).hover()
    assert page.evaluate(COVERED) == []


def test_a_sent_message_is_confirmed_in_the_composer(agent: Agent, room_page: Callable[..., Page]) -> None:
    for _ in range(8):
        agent.ask()
    page = room_page(viewport={"width": 1280, "height": 600})
    page.get_by_label("Message the agents").fill("Please hurry")
    page.get_by_role("button", name="Send").click()
    said = page.locator(".composer").get_by_text("“Please hurry”")
    expect(said).to_be_in_viewport()
    expect(page.locator("#announcer")).to_have_text("Sent: “Please hurry”")
    expect_no_problems(page)
    resize(page, 1280, 600)
    message = page.locator(".message-text", has_text="Please hurry")
    expect(message).not_to_be_in_viewport()
    page.locator(".composer").get_by_role("link", name="Show it").click()
    expect(message).to_be_in_viewport()
    # The next one takes its place.
    page.get_by_label("Message the agents").fill("Thank you")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".composer-sent")).to_have_count(1)
    expect(page.locator(".composer-sent")).to_contain_text("“Thank you”")


def test_without_javascript_it_is_confirmed_there_as_well(
    agent: Agent, open_browser: Callable[..., BrowserContext]
) -> None:
    for _ in range(8):
        agent.ask()
    viewport = {"width": 1280, "height": 600}
    page = open_browser(java_script_enabled=False, viewport=viewport).new_page()
    page.goto(f"/rooms/{agent.room}")
    page.get_by_label("Message the agents").fill("Please hurry")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".composer").get_by_text("“Please hurry”")).to_be_in_viewport()
    page.locator(".composer").get_by_role("link", name="Show it").click()
    expect(page).to_have_url(re.compile("#message-m_"))
    expect(page.locator(".message-text", has_text="Please hurry")).to_be_in_viewport()
