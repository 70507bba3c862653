"""The keyboard alone: keys act on the card that has the focus, and never in a text field."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.actors import Agent
from tests.browser.test_the_whole_path import TWO_PROMPTS

RoomPage = Callable[..., Page]


def test_j_and_k_move_between_cards(agent: Agent, room_page: RoomPage) -> None:
    first, second = agent.ask(), agent.ask()
    page = room_page()
    page.keyboard.press("j")
    expect(page.locator(f"#card-{first['id']}")).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator(f"#card-{second['id']}")).to_be_focused()
    page.keyboard.press("k")
    expect(page.locator(f"#card-{first['id']}")).to_be_focused()


def test_a_number_chooses_on_the_focused_card_and_enter_sends(agent: Agent, room_page: RoomPage) -> None:
    first, second = agent.ask(), agent.ask()
    page = room_page()
    page.keyboard.press("2")
    expect(page.locator("input:checked")).to_have_count(0)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("2")
    expect(page.locator(f"#card-{second['id']}").get_by_role("radio", name="SQLite")).to_be_checked()
    assert agent.read(second["id"])["status"] == "open"
    page.keyboard.press("Enter")
    expect(page.locator(f"#card-{second['id']}")).to_contain_text("Answered by you")
    assert agent.read(first["id"])["status"] == "open"


def test_several_prompts_by_keyboard_alone(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask(questions=TWO_PROMPTS)
    page = room_page()
    page.keyboard.press("j")
    page.keyboard.press("1")
    page.keyboard.press("3")
    field = page.get_by_label("Your own answer to: Which checks")
    expect(field).to_be_focused()
    # In a text field a number is a number, and the other keys are letters.
    page.keyboard.type("2 jobs? sk")
    expect(field).to_have_value("2 jobs? sk")
    page.get_by_role("radio", name="Now").focus()
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(page.get_by_role("article")).to_contain_text("Checks: Unit tests, 2 jobs? sk")
    assert agent.read(question["id"])["answer"]["answers"][1]["selectedOptions"] == ["Tonight"]


def test_s_asks_for_a_reason_before_it_skips(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    page = room_page()
    page.keyboard.press("j")
    page.keyboard.press("s")
    expect(page.get_by_label("Why? The agent is told.")).to_be_focused()
    assert agent.read(question["id"])["status"] == "open"
    page.keyboard.type("Not now")
    page.keyboard.press("Enter")
    expect(page.get_by_role("article")).to_contain_text("Skipped by you")


def test_escape_leaves_the_field_and_then_the_card(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    page = room_page()
    page.get_by_role("radio", name="Other").check()
    expect(page.get_by_label("Your own answer")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(f"#card-{question['id']}")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(f"#card-{question['id']}")).not_to_be_focused()


def test_a_question_mark_shows_the_list(agent: Agent, room_page: RoomPage) -> None:
    page = room_page()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_hidden()


def test_the_tab_says_how_many_are_open(agent: Agent, room_page: RoomPage) -> None:
    page = room_page()
    agent.ask()
    page.wait_for_function("/^\\(\\d+\\) /.test(document.title)")
    expect(page.locator("link[rel=icon]")).to_have_attribute("href", "/static/ask_bridge/icon-badge.svg")
