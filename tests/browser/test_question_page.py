"""The page of one question, live."""

from collections.abc import Callable

from playwright.sync_api import BrowserContext, expect

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import wait_for_stream


def test_the_record_of_an_open_page_follows_its_question(
    agent: Agent, bridge: Bridge, open_browser: Callable[..., BrowserContext]
) -> None:
    question = agent.ask()
    page = open_browser().new_page()
    page.goto(question["url"])
    wait_for_stream(page)
    record = page.get_by_role("region", name="Timeline")
    expect(record.get_by_role("listitem").last).to_have_text("Not answered yet")
    bridge.person("ben", bridge.site).answer(question, "SQLite")
    expect(record).to_contain_text("Answered by Ben Okafor")
    expect(record).to_contain_text("Not delivered yet")
    # Unfolded, as if the page had been opened now.
    expect(page.locator(".ab-settled-option", has_text="PostgreSQL")).to_be_visible()
    agent.wait(question["id"], seconds=1)
    expect(record).to_contain_text("Delivered to the agent")
