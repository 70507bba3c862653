"""Previews: beside the options where there is room, under them on a phone, and never cut off."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.gallery import PREVIEWS
from tests.harness.agents import Agent

LABELS = [option["label"] for option in PREVIEWS["options"] if "preview" in option]


def question_page(open_browser: Callable[..., BrowserContext], agent: Agent, **options: object) -> Page:
    page = open_browser(**options).new_page()
    page.goto(agent.ask(questions=[PREVIEWS])["url"])
    return page


def preview(page: Page, label: str) -> Locator:
    return page.get_by_label(f"Preview of {label}")


def expect_only(page: Page, label: str) -> None:
    for other in LABELS:
        expect(preview(page, other)).to_have_css("opacity", "1" if other == label else "0")


@pytest.mark.parametrize("script", [True, False])
def test_on_a_desk_one_preview_is_beside_the_options(
    agent: Agent, open_browser: Callable[..., BrowserContext], script: bool
) -> None:
    page = question_page(open_browser, agent, java_script_enabled=script)
    option, card = page.locator(".ab-option", has_text="Words"), page.get_by_role("article")
    expect_only(page, "Long")
    height = card.bounding_box()["height"]
    option.hover()
    expect_only(page, "Words")
    beside, left = preview(page, "Words").bounding_box(), option.bounding_box()
    assert beside["x"] > left["x"] + left["width"]
    # On its way there the pointer crosses the gap between them.
    page.mouse.move(beside["x"] - 2, left["y"] + 2)
    expect_only(page, "Words")
    page.mouse.move(beside["x"] + 20, left["y"] + 2)
    expect_only(page, "Words")
    # The keyboard comes before a pointer that rests somewhere.
    page.get_by_role("radio", name="Long").focus()
    page.keyboard.press("ArrowDown")
    expect_only(page, "Wide")
    page.mouse.move(0, 0)
    page.get_by_role("radio", name="Wide").blur()
    expect_only(page, "Wide")
    # Hovering moves nothing, so that a click hits the option that was aimed at.
    assert card.bounding_box()["height"] == height


def test_on_a_phone_each_preview_is_under_its_option(
    agent: Agent, open_browser: Callable[..., BrowserContext]
) -> None:
    page = question_page(open_browser, agent, viewport={"width": 320, "height": 640}, has_touch=True)
    for label in LABELS:
        box = preview(page, label).bounding_box()
        option = page.locator(".ab-option", has_text=label).first.bounding_box()
        assert abs(box["y"] - option["y"] - option["height"]) < 2
        assert box["width"] == option["width"]
        expect(preview(page, label)).to_have_css("opacity", "1")


@pytest.mark.parametrize("width", [320, 1280])
def test_every_line_and_column_can_be_scrolled_to(
    agent: Agent, open_browser: Callable[..., BrowserContext], width: int
) -> None:
    page = question_page(open_browser, agent, viewport={"width": width, "height": 640})
    for label in LABELS:
        reached = preview(page, label).evaluate(
            """(preview) => {
                preview.scrollTo(preview.scrollWidth, preview.scrollHeight);
                const text = document.createRange();
                text.selectNodeContents(preview);
                const [inside, all] = [preview.getBoundingClientRect(), text.getBoundingClientRect()];
                return all.bottom <= inside.bottom && all.right <= inside.right;
            }"""
        )
        assert reached, label
