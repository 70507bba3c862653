"""The room as a conversation: who listens, open questions as one card and rows, log lines in groups."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.harness.accessibility import expect_no_problems
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import resize, wait_for_still_cards

RoomPage = Callable[..., Page]


def ask(agent: Agent, number: int) -> Any:
    prompt = {"question": f"Question {number}?", "options": ["Yes", "No"]}
    return agent.ask(questions=[prompt])


def row(page: Page, number: int) -> Locator:
    return page.get_by_role("button", name=f"Question {number}?")


def card(page: Page, question: Any) -> Locator:
    return page.locator(f"#card-{question['id']}")


# ---- who listens -----------------------------------------------------------------------------------------


def test_the_composer_follows_who_listens(bridge: Bridge, agent: Agent, room_page: RoomPage) -> None:
    page = room_page()
    listening = page.locator(".ab-connected")
    expect(listening).to_contain_text("No agent is listening yet.")
    with agent.events():
        expect(listening).to_contain_text("1 agent connected", timeout=20_000)
        page.reload()
        expect(listening).to_contain_text("1 agent connected")
        expect_no_problems(page)
    expect(listening).to_contain_text("No agent is listening yet.", timeout=40_000)


# ---- many open questions ---------------------------------------------------------------------------------


def test_three_open_questions_are_cards(agent: Agent, room_page: RoomPage) -> None:
    for number in range(3):
        ask(agent, number)
    page = room_page()
    expect(page.get_by_role("radio", name="Yes")).to_have_count(3)
    expect(page.locator(".ab-fold-row")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_of_many_the_first_is_a_card_and_the_others_are_rows_that_open(
    agent: Agent, room_page: RoomPage, scheme: str
) -> None:
    questions = [ask(agent, number) for number in range(5)]
    page = room_page(color_scheme=scheme)
    expect(card(page, questions[0]).get_by_role("radio", name="Yes")).to_be_visible()
    expect(page.locator(".ab-fold-row")).to_have_count(4)
    expect_no_problems(page)
    for width in (320, 1280):
        resize(page, width, 800)
        assert row(page, 3).bounding_box()["height"] == 56  # type: ignore[index]
    row(page, 3).click()
    expect(card(page, questions[3]).get_by_role("radio", name="Yes")).to_be_visible()
    expect(card(page, questions[3])).to_be_focused()
    expect(page.locator(".ab-fold-row")).to_have_count(3)


def test_a_new_question_among_many_is_a_row(agent: Agent, room_page: RoomPage) -> None:
    shown = [ask(agent, number) for number in range(3)]
    page = room_page()
    new = ask(agent, 3)
    expect(row(page, 3)).to_be_visible()
    expect(card(page, new).get_by_role("radio", name="Yes")).to_be_hidden()
    # What was there stays as it was.
    for question in shown:
        expect(card(page, question).get_by_role("radio", name="Yes")).to_be_visible()


def test_a_row_that_another_person_answers_becomes_a_record(
    agent: Agent, bridge: Bridge, room_page: RoomPage
) -> None:
    questions = [ask(agent, number) for number in range(5)]
    page = room_page()
    bridge.person("ben", bridge.site).answer(questions[2], "No")
    expect(card(page, questions[2])).to_contain_text("Answered by Ben Okafor")
    expect(page.locator(".ab-fold-row")).to_have_count(3)
    # Nothing else opened under the eyes of this person.
    expect(card(page, questions[1]).get_by_role("radio", name="Yes")).to_be_hidden()


def test_after_an_answer_the_next_row_opens(agent: Agent, room_page: RoomPage) -> None:
    questions = [ask(agent, number) for number in range(5)]
    page = room_page()
    wait_for_still_cards(page)
    card(page, questions[0]).locator("label", has_text="Yes").click()
    expect(card(page, questions[0])).to_contain_text("Answered by you")
    expect(card(page, questions[1]).get_by_role("radio", name="Yes")).to_be_visible()
    expect(page.locator(".ab-fold-row")).to_have_count(3)


def test_the_keyboard_opens_rows_and_chooses_nothing_hidden(agent: Agent, room_page: RoomPage) -> None:
    questions = [ask(agent, number) for number in range(5)]
    page = room_page()
    row(page, 2).focus()
    page.keyboard.press("1")
    expect(card(page, questions[2]).locator("input:checked")).to_have_count(0)
    page.keyboard.press("Enter")
    expect(card(page, questions[2])).to_be_focused()
    page.keyboard.press("j")
    expect(card(page, questions[3]).get_by_role("radio", name="Yes")).to_be_visible()
    page.keyboard.press("1")
    expect(card(page, questions[3]).locator("input:checked")).to_have_count(1)


# ---- log lines and the size of the page ------------------------------------------------------------------


def test_a_new_log_line_joins_the_lines_of_its_sender(agent: Agent, room_page: RoomPage) -> None:
    page = room_page()
    for number in range(3):
        agent.send(f"line {number}", type="log")
    agent.send("line of another", type="log", sender="other")
    expect(page.locator("#ab-timeline > .ab-log")).to_contain_text(["line of another"])
    group = page.locator(".ab-log-group")
    expect(group.locator(".ab-log-more")).to_have_text("3 log lines")
    expect(page.get_by_text("line 2")).to_be_visible()
    expect(page.get_by_text("line 1")).to_be_hidden()
    group.locator("summary").click()
    expect(group.locator(".ab-log-text")).to_have_text(["line 2", "line 1", "line 0"])
    expect_no_problems(page)


@pytest.mark.parametrize("width", [320, 390, 1280, 1920])
def test_an_empty_room_does_not_scroll(room_page: RoomPage, width: int) -> None:
    page = room_page(viewport={"width": width, "height": 900})
    expect(page.get_by_text("No questions yet")).to_be_visible()
    assert page.evaluate(
        "() => { const { scrollHeight, scrollWidth } = document.documentElement;"
        " return [scrollHeight - innerHeight, scrollWidth - innerWidth]; }"
    ) == [0, 0]
