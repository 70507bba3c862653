"""The composer of a room: nothing covers it, and what is sent appears where it was written."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.gallery import PREVIEWS
from tests.harness.accessibility import expect_no_problems
from tests.harness.agents import Agent
from tests.harness.pages import resize

# What is on top at a grid of points over the composer, wherever the page is scrolled to.
COVERED = """() => {
    const composer = document.querySelector(".ab-composer");
    const found = new Set();
    for (let top = 0; top <= document.body.scrollHeight; top += innerHeight / 4) {
        scrollTo({ top, behavior: "instant" });
        const { left, right, top: upper, bottom } = composer.getBoundingClientRect();
        for (let x = left + 8; x < right - 8; x += 12) {
            for (let y = upper + 8; y < bottom - 8; y += 8) {
                const above = document.elementFromPoint(x, y);
                const isInWindow = y > 0 && y < innerHeight;
                if (isInWindow && !composer.contains(above)) found.add(above?.className ?? "nothing");
            }
        }
    }
    return [...found];
}"""

# How far below the composer the newest entry begins.
BELOW = """() => {
    const composer = document.querySelector(".ab-composer").getBoundingClientRect();
    return document.querySelector("#ab-timeline > *").getBoundingClientRect().top - composer.bottom;
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
    page.locator(".ab-option", has_text="Words").nth(1).hover()
    assert page.evaluate(COVERED) == []


def test_a_sent_message_appears_below_the_field_it_was_written_in(
    agent: Agent, room_page: Callable[..., Page]
) -> None:
    for _ in range(3):
        agent.ask(questions=[PREVIEWS])
    agent.send("An earlier message")
    page = room_page(viewport={"width": 1280, "height": 600})
    # At hand, over the cards, although the conversation is far below.
    field = page.get_by_label("Message the agents")
    expect(field).to_be_in_viewport()
    expect(page.get_by_text("An earlier message")).not_to_be_in_viewport()
    field.fill("Please hurry")
    page.get_by_role("button", name="Send").click()
    message = page.locator(".ab-message-text", has_text="Please hurry")
    expect(message).to_be_in_viewport()
    expect(field).to_be_in_viewport()
    expect(field).to_have_value("")
    assert 0 < page.evaluate(BELOW) < 40
    expect(page.locator("#ab-announcer")).to_have_text("Sent: “Please hurry”")
    expect_no_problems(page)


def test_a_sent_message_appears_once(agent: Agent, room_page: Callable[..., Page]) -> None:
    page = room_page()
    for text in ("First", "Second"):
        page.get_by_label("Message the agents").fill(text)
        page.get_by_role("button", name="Send").click()
        expect(page.locator(".ab-message-text").first).to_have_text(text)
    # What comes later over the stream is there, so the stream has brought both messages as well.
    agent.send("Third")
    expect(page.locator(".ab-message-text")).to_have_text(["Third", "Second", "First"])


def test_without_javascript_it_appears_there_as_well(
    agent: Agent, open_browser: Callable[..., BrowserContext]
) -> None:
    for _ in range(3):
        agent.ask()
    viewport = {"width": 1280, "height": 600}
    page = open_browser(java_script_enabled=False, viewport=viewport).new_page()
    page.goto(f"/rooms/{agent.room}")
    page.get_by_label("Message the agents").fill("Please hurry")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".ab-message-text", has_text="Please hurry")).to_be_in_viewport()
    expect(page.get_by_label("Message the agents")).to_have_value("")
