"""Records in a room and on their own page: dense, readable, live."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.harness.accessibility import expect_no_problems
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import resize, wait_for_stream

OpenBrowser = Callable[..., BrowserContext]
RoomPage = Callable[..., Page]

LONG = "Keep the staging database over the weekend although the import of Friday has not finished yet?"
LABEL = "Keep it until Monday"

# Whether all of an element's text fits into it.
IS_WHOLE = """({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>
    scrollWidth <= clientWidth && scrollHeight <= clientHeight"""


@pytest.fixture
def answered(agent: Agent, bridge: Bridge) -> Any:
    """A question that Ben has answered, and that its agent has received."""
    question = agent.ask(questions=[{"question": LONG, "options": [LABEL, "Drop it"]}])
    bridge.person("ben", bridge.site).answer(question, LABEL)
    agent.wait(question["id"], seconds=1)
    return question


@pytest.fixture
def record(room_page: RoomPage, answered: Any) -> Locator:
    page = room_page()
    return page.locator(f"#ab-timeline #card-{answered['id']}")


def height(element: Locator) -> float:
    box = element.bounding_box()
    assert box
    return box["height"]


def test_a_record_is_one_row_of_44_px_with_the_whole_choice(record: Locator) -> None:
    resize(record.page, 1280, 800)
    assert height(record.locator(".ab-settled > summary")) == 44
    choice, question = record.locator(".ab-summary-choice"), record.locator(".ab-summary-question")
    expect(choice).to_have_text(LABEL)
    assert choice.evaluate(IS_WHOLE)
    assert not question.evaluate(IS_WHOLE)
    expect(record).to_contain_text("Answered by Ben Okafor")
    expect(record).to_contain_text("Delivered to the agent")


@pytest.mark.parametrize("width", [320, 390])
def test_on_a_phone_a_record_stays_dense(record: Locator, width: int) -> None:
    resize(record.page, width, 800)
    assert height(record.locator(".ab-settled > summary")) < 90
    assert record.locator(".ab-summary-choice").evaluate(IS_WHOLE)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_an_opened_record_shows_the_whole(
    room_page: RoomPage, answered: Any, scheme: str, width: int
) -> None:
    page = room_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    record = page.locator(f"#card-{answered['id']}")
    expect_no_problems(page)
    record.locator(".ab-settled > summary").focus()
    page.keyboard.press("Enter")
    expect(record.get_by_role("heading", name=LONG)).to_be_visible()
    expect(record.locator(".ab-settled-option", has_text="Drop it")).to_be_visible()
    expect(record.locator(".ab-settled-option.ab-is-chosen")).to_contain_text(LABEL)
    expect_no_problems(page)


def test_the_row_says_when_the_agent_has_the_answer(
    agent: Agent, bridge: Bridge, room_page: RoomPage
) -> None:
    question = agent.ask()
    page = room_page()
    bridge.person("ben", bridge.site).answer(question, "SQLite")
    record = page.locator(f"#card-{question['id']}")
    expect(record.get_by_text("Not delivered yet")).to_be_visible()
    agent.wait(question["id"], seconds=1)
    expect(record).to_contain_text("Delivered to the agent")
    expect(record).not_to_contain_text("Not delivered yet")


# ---- the page of a question ------------------------------------------------------------------------------


def test_from_the_inbox_and_back_with_its_filters(agent: Agent, open_browser: OpenBrowser) -> None:
    question = agent.ask()
    page = open_browser().new_page()
    page.goto(f"/?room={agent.room}")
    wait_for_stream(page)
    page.locator(f"#card-{question['id']} .ab-card-time").click()
    back = page.get_by_role("link", name="Back to the inbox")
    back.click()
    expect(page).to_have_url(re.compile(rf"/\?room={agent.room}$"))


def test_the_link_to_a_question_can_be_copied(answered: Any, open_browser: OpenBrowser) -> None:
    context = open_browser(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{answered['url']}?inbox=mine%3D1")
    wait_for_stream(page)
    expect_no_problems(page)
    page.get_by_role("button", name="Copy the link to this question").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    assert page.evaluate("() => navigator.clipboard.readText()") == answered["url"]
