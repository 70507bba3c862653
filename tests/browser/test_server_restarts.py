"""Server restarts: a page is up to date within five seconds after the server is back."""

import time
from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import RECORD_BANNER, expect_caught_up


def test_a_page_survives_a_restart_of_the_server(
    agent: Agent, room_page: Callable[..., Page], open_browser: Callable[..., BrowserContext], bridge: Bridge
) -> None:
    seen = agent.ask()
    page = room_page()
    page.get_by_role("radio", name="Other").check()
    page.get_by_label("Your own answer").fill("half a thought")
    agent.send("Good morning")
    expect(page.get_by_text("Good morning")).to_be_visible()  # the stream is open
    page.evaluate(RECORD_BANNER)

    bridge.site.stop()
    expect(page.get_by_text("Connection lost")).to_be_visible()
    agent.site = bridge.start_again()
    returned_at = time.monotonic()

    missed = agent.ask(questions=[{"question": "Asked while you were away?", "options": ["Yes", "No"]}])
    expect(page.locator(f"#card-{missed['id']}")).to_be_visible()
    assert time.monotonic() - returned_at < 5
    expect_caught_up(page)
    # The card that was there is the same, with what was typed into it, and still alive.
    expect(page.get_by_label("Your own answer").first).to_have_value("half a thought")
    page.get_by_role("button", name="Submit").first.click()
    expect(page.locator(f"#card-{seen['id']}")).to_contain_text("Answered by you")


def test_a_killed_server_loses_nothing_that_it_confirmed(
    agent: Agent, room_page: Callable[..., Page], bridge: Bridge
) -> None:
    question = agent.ask()
    bridge.site.end()
    agent.site = bridge.start_again()
    page = room_page()
    with agent.waiting(question["id"]) as wait:
        page.get_by_role("radio", name="SQLite").focus()
        page.keyboard.press("Space")
        page.keyboard.press("Enter")
        assert wait.result()["status"] == "answered"
    bridge.site.end()
    agent.site = bridge.start_again()
    assert agent.read(question["id"])["answer"]["by"]["username"] == "ana"


def test_an_answer_that_cannot_be_sent_says_so_and_is_sent_when_the_server_is_back(
    agent: Agent, room_page: Callable[..., Page], bridge: Bridge
) -> None:
    question = agent.ask()
    page = room_page()
    page.get_by_role("radio", name="Other").check()
    page.get_by_label("Your own answer").fill("half a thought")
    bridge.site.stop()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("alert")).to_contain_text("Could not send")
    expect(page.get_by_role("alert")).to_contain_text("sent again when the connection is back")
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("button", name="Retry")).to_be_focused()
    agent.site = bridge.start_again()
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    assert agent.read(question["id"])["answer"]["answers"][0]["customInput"] == "half a thought"
