"""Choosing before sending: the button names the chosen option, and a key repeats the last choice."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from tests.harness.accessibility import expect_no_problems
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge

RoomPage = Callable[..., Page]


def ask(agent: Agent, text: str) -> Any:
    return agent.ask(questions=[{"question": text, "options": ["Keep them", "Delete them"]}])


def test_the_button_names_what_enter_sends(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    page = room_page()
    button = page.locator(".ab-submit")
    page.keyboard.press("j")
    page.keyboard.press("2")
    expect(button).to_be_visible()
    expect(button).to_have_accessible_name("Answer SQLite")
    page.keyboard.press("ArrowUp")
    expect(button).to_have_accessible_name("Answer PostgreSQL")
    page.keyboard.press("ArrowUp")
    expect(button).to_have_accessible_name("Submit")
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    page.reload()
    # From a draft.
    expect(button).to_have_accessible_name("Answer SQLite")
    assert agent.read(question["id"])["status"] == "open"
    button.click()
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    assert agent.read(question["id"])["answer"]["answers"][0]["selectedOptions"] == ["SQLite"]


def test_a_vote_is_called_a_vote(agent: Agent, room_page: RoomPage) -> None:
    agent.ask(care={"votes": 2})
    page = room_page()
    page.keyboard.press("j")
    page.keyboard.press("2")
    expect(page.locator(".ab-submit")).to_have_accessible_name("Vote for SQLite")


def test_the_number_of_an_option_is_its_radio_button(agent: Agent, room_page: RoomPage) -> None:
    agent.ask()
    page = room_page()
    mark = page.get_by_role("radio", name="SQLite")
    expect(mark).to_have_css("appearance", "none")
    number = "(input) => getComputedStyle(input, '::before').content"
    assert mark.evaluate(number) == "counter(option)"
    phone = room_page(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    assert phone.get_by_role("radio", name="SQLite").evaluate(number) == "none"


def test_an_option_remembers_and_a_key_selects_it_without_sending(
    agent: Agent, bridge: Bridge, room_page: RoomPage
) -> None:
    for person in ("ben", "ana"):
        bridge.person(person).answer(ask(agent, "Delete the tables of `uploads_1`?"), "Delete them")
    page = room_page()
    question = ask(agent, "Delete the tables of `uploads_2`?")
    card = page.locator(f"#card-{question['id']}")
    # Found a moment after the card was shown: it comes by the stream.
    memory = card.locator(".ab-option-row").nth(1).locator(".ab-option-memory")
    expect(memory).to_contain_text("chosen 2 of 2 times, last by Ana Costa")
    expect(card.locator(".ab-option-memory").first).to_be_empty()
    card.focus()
    page.keyboard.press("l")
    expect(card.get_by_role("radio", name="Delete them")).to_be_checked()
    expect(card.get_by_role("radio", name="Delete them")).to_be_focused()
    expect(card.locator(".ab-submit")).to_have_accessible_name("Answer Delete them")
    expect(memory.locator("kbd")).to_be_visible()
    expect_no_problems(page)
    assert agent.read(question["id"])["status"] == "open"
    # Its details can be read under the card.
    card.get_by_text("Asked before: 2 similar answers").click()
    expect(card.locator(".ab-memory-chosen")).to_have_count(2)
    card.get_by_role("radio", name="Delete them").focus()
    page.keyboard.press("Enter")
    expect(card).to_contain_text("Answered by you")


def test_the_key_does_nothing_where_nothing_was_chosen_before(agent: Agent, room_page: RoomPage) -> None:
    agent.ask()
    page = room_page()
    page.keyboard.press("j")
    page.keyboard.press("l")
    expect(page.locator("input:checked")).to_have_count(0)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("select what was chosen last time, without sending")
