"""The undo window of a held answer: a countdown with a button, and the key z."""

import re
from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

from tests.harness.accessibility import expect_no_problems
from tests.harness.agents import Agent
from tests.harness.pages import click_option, wait_for_stream

RoomPage = Callable[..., Page]
OpenBrowser = Callable[..., BrowserContext]
LONG = {"undo_seconds": 300}


def test_the_seconds_count_down_beside_the_button(agent: Agent, room_page: RoomPage) -> None:
    agent.ask(care=LONG)
    page = room_page()
    click_option(page, "SQLite")
    line = page.locator(".ab-undo-form")
    expect(line).to_have_text(
        re.compile(r"^\s*Goes to the agent in \d{2,3} s\s*Undo\s*z\s*$"), use_inner_text=True
    )
    shown = int(line.locator(".ab-countdown").inner_text())
    assert shown <= 300
    page.wait_for_function(
        "(before) => Number(document.querySelector('.ab-countdown').textContent) < before", arg=shown
    )
    # The line says it: no second countdown in the header.
    expect(page.locator(".ab-mark.ab-held")).to_be_hidden()
    expect_no_problems(page)


def test_z_undoes_in_a_room(agent: Agent, room_page: RoomPage) -> None:
    agent.ask(care=LONG)
    page = room_page()
    click_option(page, "SQLite")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    page.keyboard.press("z")
    expect(page.get_by_role("radio", name="SQLite")).to_be_visible()


def test_z_undoes_on_the_page_of_the_question(agent: Agent, open_browser: OpenBrowser) -> None:
    question = agent.ask(care=LONG)
    page = open_browser("ana").new_page()
    page.goto(f"/rooms/{agent.room}/questions/{question['id']}")
    wait_for_stream(page)
    click_option(page, "SQLite")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    page.keyboard.press("z")
    expect(page.get_by_role("radio", name="SQLite")).to_be_visible()


def test_z_undoes_the_last_answer_of_the_inbox_and_opens_it_again(
    agent: Agent, open_browser: OpenBrowser
) -> None:
    first = agent.ask(care=LONG)
    agent.ask(questions=[{"question": "Deploy now?", "options": ["Yes", "No"]}])
    page = open_browser("ana", viewport={"width": 1280, "height": 900}).new_page()
    page.goto(f"/?room={agent.room}")
    wait_for_stream(page)
    click_option(page, "SQLite")
    expect(page.locator("#ab-last .ab-undo-form")).to_contain_text("Goes to the agent in")
    expect(page.locator("#ab-focus")).to_contain_text("Deploy now?")
    page.keyboard.press("z")
    expect(page.locator(f"#ab-focus #card-{first['id']}")).to_be_visible()
    expect(page.get_by_role("radio", name="SQLite")).to_be_visible()


def test_without_javascript_the_time_is_stated_and_the_button_undoes(
    agent: Agent, open_browser: OpenBrowser
) -> None:
    agent.ask(care=LONG)
    page = open_browser("ana", java_script_enabled=False).new_page()
    page.goto(f"/rooms/{agent.room}")
    page.get_by_role("radio", name="SQLite").check()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text(re.compile(r"Sent to the agent at \d+:\d\d:\d\d [ap]\.m\. UTC"))).to_be_visible()
    expect(page.get_by_text("Goes to the agent in")).to_be_hidden()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("radio", name="SQLite")).to_be_visible()
