"""Connecting an agent: tabs, the live checklist, and a test question that is asked with the key."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.harness.accessibility import expect_no_problems
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import click_option

OpenBrowser = Callable[..., BrowserContext]
STEPS = ["Key created", "First call", "First question", "First answer", "Delivered"]


@pytest.fixture
def connect_page(open_browser: OpenBrowser, bridge: Bridge) -> Callable[..., Page]:
    """The Connect page of a room, as the admin sees it."""

    def start(room: str, query: str = "", **options: object) -> Page:
        page = open_browser("", **options).new_page()
        page.goto(f"/rooms/{room}/connect{query}")
        page.get_by_label("User name").fill("admin")
        page.get_by_label("Password").fill(re.search(r"Password +(\S+)", bridge.greeting).group(1))
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="Connect an agent")).to_be_visible()
        return page

    return start


def create_key(page: Page, name: str) -> str:
    page.get_by_label("Name of the agent").fill(name)
    page.get_by_role("button", name="Create a key").click()
    expect(page.get_by_text("Copy it now")).to_be_visible()
    return page.locator(".ab-key-panel pre").inner_text()


def step(page: Page, name: str) -> Locator:
    return page.locator(".ab-tick").filter(has=page.get_by_text(name, exact=True))


def expect_done(page: Page, count: int) -> None:
    for number, name in enumerate(STEPS):
        expect(step(page, name)).to_contain_text("Done:" if number < count else "Not yet:")


def test_arrow_keys_move_between_tabs(agent: Agent, connect_page: Callable[..., Page]) -> None:
    page = connect_page(agent.room)
    first, last = (
        page.get_by_role("tab", name="Claude Code", exact=True),
        page.get_by_role("tab", name="curl"),
    )
    first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Claude Code and terminal")).to_be_focused()
    expect(page.get_by_role("tabpanel")).to_contain_text("--both")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    expect(last).to_be_focused()
    expect(last).to_have_attribute("aria-selected", "true")
    expect(first).to_have_attribute("tabindex", "-1")
    expect(page.get_by_role("tabpanel")).to_have_count(1)
    page.reload()
    expect(last).to_have_attribute("aria-selected", "true")


def test_a_new_key_opens_the_tab_that_was_chosen(agent: Agent, connect_page: Callable[..., Page]) -> None:
    page = connect_page(agent.room)
    page.get_by_role("tab", name="MCP").click()
    key = create_key(page, "mcp-bot")
    expect(page.get_by_role("tab", name="MCP")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("tabpanel")).to_contain_text(key)


def test_without_javascript_a_tab_is_a_link_and_a_new_key_stands_in_all_blocks(
    agent: Agent, connect_page: Callable[..., Page]
) -> None:
    page = connect_page(agent.room, java_script_enabled=False)
    expect(page.locator(".ab-client:visible")).to_have_count(1)
    page.get_by_role("link", name="Agent SDK").click()
    expect(page.locator(".ab-client:visible")).to_contain_text("ask_bridge_can_use_tool")
    expect(page.get_by_role("link", name="Agent SDK")).to_have_attribute("aria-current", "true")
    key = create_key(page, "plain-bot")
    blocks = page.locator(".ab-client:visible")
    expect(blocks).to_have_count(6)
    for block in blocks.all():
        expect(block).to_contain_text(key)


def test_the_checklist_ticks_while_a_real_agent_works(
    agent: Agent, bridge: Bridge, connect_page: Callable[..., Page]
) -> None:
    page = connect_page(agent.room)
    new = Agent(bridge.site, agent.room, create_key(page, "new-bot"))
    expect_done(page, 1)
    new.open_questions()
    expect_done(page, 2)
    question = new.ask()
    expect_done(page, 3)
    expect(step(page, "First question").get_by_role("link", name="Which database?")).to_be_visible()
    with new.waiting(question["id"]) as waiting:
        bridge.person("ben").answer(question, "SQLite")
        assert waiting.reply().json()["status"] == "answered"
    expect_done(page, 5)
    expect(step(page, "First answer")).to_contain_text("Answered by Ben Okafor")
    # Nothing is left to wait for.
    expect(page.locator("#ab-announcer")).to_have_text("Done: Delivered")
    expect(page.locator(".ab-ticks[hx-get]")).to_have_count(0)


def test_the_test_question_takes_the_way_of_the_agent(
    agent: Agent, bridge: Bridge, connect_page: Callable[..., Page]
) -> None:
    page = connect_page(agent.room)
    key = create_key(page, "tested-bot")
    page.get_by_role("button", name="Send a test question").click()
    expect(page.get_by_role("article")).to_contain_text("Do you see this card?")
    expect(page.get_by_text("This page waits for the answer")).to_be_visible()
    expect_done(page, 3)
    [question] = Agent(bridge.site, agent.room, key).open_questions()
    click_option(page, "Yes, and I clicked it")
    expect(page.get_by_text("The answer has arrived here")).to_be_visible()
    expect_done(page, 5)
    assert agent.read(question["id"])["delivered_at"]
    # The key is still there to be copied.
    expect(page.locator(".ab-key-panel pre")).to_have_text(key)


def test_a_member_pastes_a_key_into_the_blocks_and_tests_it(agent: Agent, open_browser: OpenBrowser) -> None:
    page = open_browser("ben").new_page()
    page.goto(f"/rooms/{agent.room}/connect")
    field = page.get_by_label("Your key")
    field.fill("abk_wrong")
    page.get_by_role("button", name="Send a test question").click()
    expect(page.get_by_role("alert")).to_contain_text("This key does not work in this room")
    expect(page.get_by_role("tabpanel")).to_contain_text("Bearer abk_…")
    field.fill(agent.key)
    expect(page.get_by_role("tabpanel")).to_contain_text(f"Bearer {agent.key}")
    page.get_by_role("button", name="Send a test question").click()
    click_option(page, "Yes, and I clicked it")
    expect(page.get_by_text("The answer has arrived here")).to_be_visible()
    expect(page.locator("#ab-test-error")).to_be_empty()


def test_a_key_that_only_answers_is_told_apart_from_a_wrong_one(
    agent: Agent, bridge: Bridge, open_browser: OpenBrowser
) -> None:
    page = open_browser("ben").new_page()
    page.goto(f"/rooms/{agent.room}/connect")
    page.get_by_label("Your key").fill(bridge.agent_with(agent, "answer").key)
    page.get_by_role("button", name="Send a test question").click()
    expect(page.get_by_role("alert")).to_contain_text("This key may not ask questions")


def test_on_a_phone_each_fact_of_a_key_stands_after_its_label(
    agent: Agent, connect_page: Callable[..., Page]
) -> None:
    page = connect_page(agent.room, viewport={"width": 320, "height": 700})
    create_key(page, "phone-bot")
    row = page.get_by_role("row", name="phone-bot")
    expect(row.get_by_role("cell")).to_have_count(3)
    # The beginning of the key in one line: four columns broke it into five.
    assert row.locator("code").first.evaluate("one => one.getClientRects().length") == 1
    name, *facts = [cell.bounding_box() for cell in row.locator("th, td").all()]
    assert all(fact["x"] == name["x"] and fact["y"] > name["y"] for fact in facts)
    expect_no_problems(page)


def test_without_javascript_the_server_asks_with_the_key(
    agent: Agent, bridge: Bridge, connect_page: Callable[..., Page]
) -> None:
    page = connect_page(agent.room, java_script_enabled=False)
    key = create_key(page, "plain-bot")
    page.get_by_role("button", name="Send a test question").click()
    expect(page.get_by_role("article")).to_contain_text("Do you see this card?")
    [question] = Agent(bridge.site, agent.room, key).open_questions()
    assert page.url.endswith(question["id"])
    page.goto(f"/rooms/{agent.room}/connect")
    expect_done(page, 3)
