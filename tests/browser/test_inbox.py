"""The inbox in the browser: rows that follow their questions, one focused card, and the way to the next."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from rooms.pages.inbox import ROWS
from tests.harness.accessibility import expect_no_problems
from tests.harness.agents import Agent
from tests.harness.pages import click_option, wait_for_still_cards, wait_for_stream

OpenBrowser = Callable[..., BrowserContext]


def inbox(open_browser: OpenBrowser, agent: Agent, **options: object) -> Page:
    """The inbox with the questions of the agent's room."""
    page = open_browser(**options).new_page()
    page.goto(f"/?room={agent.room}")
    wait_for_stream(page)
    return page


def leave(agent: Agent, question: dict[str, str]) -> None:
    """An agent waits for the question, and says that it stops."""
    agent.wait(question["id"], seconds=0.1)
    assert agent.call("DELETE", f"/api/v1/questions/{question['id']}/wait").status == 204


def row(page: Page, group: str, question: dict[str, str]) -> Locator:
    return page.locator(f"#ab-group-{group} #row-{question['id']}")


def focused_card(page: Page) -> Locator:
    return page.locator("#ab-focus .ab-card")


def test_a_row_goes_into_the_fold_with_its_agent_and_comes_back(
    agent: Agent, open_browser: OpenBrowser
) -> None:
    page = inbox(open_browser, agent)
    badge = page.locator(f"a[data-room={agent.room}] .ab-count")
    question = agent.ask()
    expect(row(page, "needed", question)).to_be_visible()
    expect(badge).to_have_text("1")
    leave(agent, question)
    expect(row(page, "needed", question)).to_have_count(0)
    expect(badge).to_have_text("0")
    expect(page.get_by_role("link", name="No agent waiting 1")).to_be_visible()
    page.get_by_role("link", name="No agent waiting").click()
    expect(row(page, "unattended", question)).to_be_visible()
    agent.wait(question["id"], seconds=0.1)
    expect(row(page, "needed", question)).to_be_visible()
    expect(badge).to_have_text("1")


def test_a_card_that_is_being_filled_in_stays_as_it_is(agent: Agent, open_browser: OpenBrowser) -> None:
    page = inbox(open_browser, agent)
    question = agent.ask()
    card = page.locator(f"#card-{question['id']}")
    text = card.get_by_role("textbox", name="Your own answer")
    card.get_by_role("radio", name="Other").check()
    text.fill("Neither of the two")
    leave(agent, question)
    expect(card).to_contain_text("Agent left")
    agent.ask()
    expect(page.locator("#ab-group-needed .ab-row")).to_have_count(1)
    expect(text).to_have_value("Neither of the two")
    expect(text).to_be_focused()


def answered_by_keys(page: Page, agent: Agent) -> dict[str, str]:
    """Answer the focused question with a number and Enter, and wait for the next one."""
    card_id = focused_card(page).get_attribute("id")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    page.wait_for_function(
        """(id) => {
          const card = document.querySelector("#ab-focus .ab-card");
          return card && card.id !== id && card.contains(document.activeElement);
        }""",
        arg=card_id,
    )
    return agent.read(str(card_id).removeprefix("card-"))


def test_ten_questions_are_answered_by_keyboard_with_two_keys_each(
    agent: Agent, open_browser: OpenBrowser
) -> None:
    asked = [agent.ask() for _ in range(11)]
    page = inbox(open_browser, agent)
    expect(focused_card(page)).to_have_attribute("id", f"card-{asked[0]['id']}")
    page.keyboard.press("k")  # there is none before it: the focus goes to the card
    expect(focused_card(page)).to_have_attribute("id", f"card-{asked[0]['id']}")
    expect(focused_card(page)).to_be_focused()
    for question in asked[:10]:
        answered = answered_by_keys(page, agent)
        assert answered["id"] == question["id"]
        assert answered["answer"]["answers"][0]["selectedOptions"] == ["SQLite"]  # type: ignore[index]
        # The decided card stays above the next one.
        expect(page.locator(f"#ab-last #card-{question['id']}")).to_contain_text("Answered by you")
    expect(page.locator("#ab-group-needed .ab-row")).to_have_count(1)


def test_the_key_for_the_next_question_leads_on_behind_the_last_row(
    agent: Agent, open_browser: OpenBrowser
) -> None:
    asked = [agent.ask() for _ in range(ROWS + 1)]
    page = inbox(open_browser, agent)
    page.locator(f"#row-{asked[ROWS - 1]['id']} a").click()
    expect(focused_card(page)).to_have_attribute("id", f"card-{asked[ROWS - 1]['id']}")
    with page.expect_navigation():
        page.keyboard.press("j")
    expect(page.locator("#ab-group-needed .ab-row")).to_have_count(ROWS + 1)
    page.keyboard.press("j")
    expect(focused_card(page)).to_have_attribute("id", f"card-{asked[ROWS]['id']}")


def test_the_last_answer_leads_to_all_caught_up(agent: Agent, open_browser: OpenBrowser) -> None:
    question = agent.ask()
    page = inbox(open_browser, agent)
    wait_for_still_cards(page)
    click_option(page, "SQLite")
    expect(page.get_by_role("heading", name="No open question matches")).to_be_visible()
    expect(page.locator(f"#ab-last #card-{question['id']}")).to_contain_text("Answered by you")
    assert agent.read(question["id"])["status"] == "answered"
    # The next question is shown at once, because nothing else is.
    following = agent.ask()
    expect(focused_card(page)).to_have_attribute("id", f"card-{following['id']}")


def test_an_undone_decision_is_focused_again(agent: Agent, open_browser: OpenBrowser) -> None:
    question, other = agent.ask(care={"undo_seconds": 60}), agent.ask()
    page = inbox(open_browser, agent)
    wait_for_still_cards(page)
    click_option(page, "SQLite")
    expect(focused_card(page)).to_have_attribute("id", f"card-{other['id']}")
    page.locator("#ab-last").get_by_role("button", name="Undo").click()
    expect(focused_card(page)).to_have_attribute("id", f"card-{question['id']}")
    expect(page.locator("#ab-last .ab-card")).to_have_count(0)


def test_back_and_forward_move_between_cards(agent: Agent, open_browser: OpenBrowser) -> None:
    first, second = agent.ask(), agent.ask()
    page = inbox(open_browser, agent)
    row(page, "needed", second).click()
    expect(focused_card(page)).to_have_attribute("id", f"card-{second['id']}")
    expect(page.locator("[aria-current=true]")).to_have_attribute("data-question", second["id"])
    page.go_back()
    expect(focused_card(page)).to_have_attribute("id", f"card-{first['id']}")
    page.go_forward()
    expect(focused_card(page)).to_have_attribute("id", f"card-{second['id']}")


def test_on_a_phone_the_list_leads_to_one_card_and_back(agent: Agent, open_browser: OpenBrowser) -> None:
    asked = [agent.ask() for _ in range(3)]
    page = inbox(open_browser, agent, viewport={"width": 390, "height": 844}, has_touch=True)
    expect(focused_card(page)).to_be_hidden()
    for place, question in enumerate(asked):
        if place == 0:
            row(page, "needed", question).tap()
        expect(focused_card(page)).to_have_attribute("id", f"card-{question['id']}")
        expect(page.locator("#ab-group-needed")).to_be_hidden()
        wait_for_still_cards(page)
        focused_card(page).locator(".ab-option").get_by_text("SQLite", exact=True).tap()
        focused_card(page).locator(".ab-submit").tap()
    expect(page.get_by_role("heading", name="No open question matches")).to_be_visible()
    assert {agent.read(question["id"])["status"] for question in asked} == {"answered"}


def test_filters_are_chosen_by_keyboard_alone(agent: Agent, open_browser: OpenBrowser) -> None:
    for name in ("alpha-bot", "beta-bot"):
        agent.ask(agent={"name": name})
    page = inbox(open_browser, agent)
    agents = page.get_by_role("combobox", name="Agent")
    agents.focus()
    # The list is closed: each arrow chooses the next entry.
    for name in ("alpha-bot", "beta-bot"):
        with page.expect_navigation(url=f"**agent={name}*"):
            page.keyboard.press("ArrowDown")
        expect(agents).to_have_value(name)
        expect(agents).to_be_focused()
    expect(page.locator("#ab-group-needed .ab-row")).to_have_count(1)


def test_rows_and_filters_work_without_javascript(agent: Agent, open_browser: OpenBrowser) -> None:
    first, second = agent.ask(), agent.ask()
    page = open_browser(java_script_enabled=False).new_page()
    page.goto("/")
    page.get_by_role("combobox", name="Room").select_option(agent.room)
    page.get_by_role("button", name="Apply").click()
    expect(focused_card(page)).to_have_attribute("id", f"card-{first['id']}")
    row(page, "needed", second).click()
    expect(focused_card(page)).to_have_attribute("id", f"card-{second['id']}")
    focused_card(page).get_by_role("radio", name="SQLite").check()
    focused_card(page).get_by_role("button", name="Submit").click()
    expect(page.get_by_text("Answered by you").first).to_be_visible()
    assert agent.read(second["id"])["status"] == "answered"


def test_the_inbox_is_accessible(agent: Agent, open_browser: OpenBrowser) -> None:
    asked = [agent.ask(), agent.ask(care={"first": "ben"}), agent.ask(timeout_seconds=600)]
    page = open_browser().new_page()
    for address in (f"/?room={agent.room}", f"/?room={agent.room}&question={asked[0]['id']}"):
        page.goto(address)
        expect_no_problems(page)


@pytest.mark.parametrize("width", [320, 390, 1280, 1920])
def test_the_inbox_is_never_wider_than_its_window(
    agent: Agent, open_browser: OpenBrowser, width: int
) -> None:
    question = agent.ask()
    page = open_browser(viewport={"width": width, "height": 800}).new_page()
    for address in (f"/?room={agent.room}", f"/?room={agent.room}&question={question['id']}"):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_short_card_does_not_make_the_page_scroll(agent: Agent, open_browser: OpenBrowser) -> None:
    agent.ask()
    page = inbox(open_browser, agent, viewport={"width": 1280, "height": 860})
    expect(focused_card(page)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")


def test_close_all_says_what_it_did_without_javascript(agent: Agent, open_browser: OpenBrowser) -> None:
    question, waited_for = agent.ask(), agent.ask()
    leave(agent, question)
    page = open_browser(java_script_enabled=False).new_page()
    page.goto(f"/?room={agent.room}")
    page.get_by_text("No agent waiting").click()
    page.get_by_role("button", name="Close all").click()
    expect(page.get_by_role("status").filter(has_text="closed.")).to_be_visible()
    ended = agent.read(question["id"])["ended"]
    assert (ended["reason"], ended["by"]["username"]) == ("person", "ana")
    assert agent.read(waited_for["id"])["status"] == "open"


# The number in the title, and the sum of what the rooms count: other rooms have their own questions.
NUMBERS = """() => [
    Number(/^\\((\\d+)\\) /.exec(document.title)?.[1] ?? 0),
    [...document.querySelectorAll("[data-part]")].reduce((sum, part) => sum + Number(part.textContent), 0),
]"""


def test_the_tab_counts_what_the_rooms_count(agent: Agent, open_browser: OpenBrowser) -> None:
    page = inbox(open_browser, agent)
    badge = page.locator(f"a[data-room={agent.room}] .ab-count")
    question = agent.ask()
    for number in ("1", "0"):
        expect(badge).to_have_text(number)
        in_title, of_rooms = page.evaluate(NUMBERS)
        assert in_title == of_rooms
        leave(agent, question)


def test_a_vote_leads_to_the_next_question_and_stays_in_sight_of_others(
    agent: Agent, open_browser: OpenBrowser
) -> None:
    voted, following = agent.ask(care={"votes": 2}), agent.ask()
    page = inbox(open_browser, agent)
    wait_for_still_cards(page)
    click_option(page, "SQLite")
    expect(focused_card(page)).to_have_attribute("id", f"card-{following['id']}")
    expect(page.locator("#ab-last")).to_contain_text("You chose SQLite, 1 more vote needed")
    expect(row(page, "others", voted)).to_contain_text("You chose SQLite")
    expect(page.locator("#ab-group-needed .ab-count")).to_have_text("1")
    row(page, "others", voted).click()
    expect(focused_card(page).locator(".ab-submit")).to_contain_text("Change my vote")
