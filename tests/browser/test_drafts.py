"""Drafts: a half-typed answer is kept until the question is settled."""

from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import TWO_PROMPTS, next_step
from tests.harness.people import Person

RoomPage = Callable[..., Page]


def fill_in(page: Page) -> None:
    page.get_by_role("checkbox", name="Unit tests").check()
    page.get_by_role("checkbox", name="Other").check()
    page.get_by_label("Your own answer to: Which checks").fill("License scan")
    next_step(page)
    page.get_by_role("radio", name="Tonight").check()


def expect_filled_in(page: Page) -> None:
    """All is answered, so the card shows what will be sent."""
    expect(page.locator(".ab-review-choice")).to_have_text(["Unit tests, License scan", "Tonight"])
    page.get_by_role("button", name="Back").click()
    expect(page.get_by_role("radio", name="Tonight")).to_be_checked()
    page.get_by_role("button", name="Back").click()
    expect(page.get_by_role("checkbox", name="Unit tests")).to_be_checked()
    expect(page.get_by_label("Your own answer to: Which checks")).to_have_value("License scan")
    next_step(page)
    next_step(page)


def test_a_reload_keeps_what_was_chosen_and_typed(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask(questions=TWO_PROMPTS)
    page = room_page()
    fill_in(page)
    page.reload()
    expect_filled_in(page)
    page.goto(question["url"])
    expect_filled_in(page)
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    expect(page.get_by_role("article")).to_contain_text("Checks: Unit tests, License scan")
    assert page.evaluate("Object.keys(localStorage).filter((name) => name.includes('draft'))") == []


def test_a_draft_is_gone_when_another_person_answered(
    agent: Agent, room_page: RoomPage, bridge: Bridge
) -> None:
    question = agent.ask()
    page = room_page()
    page.get_by_role("radio", name="Other").check()
    page.get_by_label("Your own answer").fill("half a thought")
    ben: Person = bridge.person("ben", bridge.site)
    ben.answer(question, "SQLite")
    expect(page.get_by_role("article")).to_contain_text("Answered by Ben Okafor")
    assert page.evaluate("Object.keys(localStorage).filter((name) => name.includes('draft'))") == []


def test_what_was_ticked_and_typed_stays_readable_beside_the_winner(
    agent: Agent, room_page: RoomPage, bridge: Bridge
) -> None:
    question = agent.ask(questions=TWO_PROMPTS)
    page = room_page()
    fill_in(page)
    bridge.person("ben", bridge.site).post(
        f"/rooms/{agent.room}/questions/{question['id']}/answer", {"choice-0": "1", "choice-1": "0"}
    )
    card = page.get_by_role("article")
    expect(card).to_contain_text("Answered by Ben Okafor")
    lost = card.locator(".ab-lost")
    for words in ("Unit tests", "License scan", "Tonight"):
        expect(lost).to_contain_text(words)


def test_an_answer_in_another_tab_leaves_nothing_behind(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    page = room_page()
    other = page.context.new_page()
    other.goto(f"/rooms/{agent.room}")
    other.get_by_role("radio", name="SQLite").focus()
    other.keyboard.press("Space")
    # The stream brings it to both; what is chosen in the other tab is not chosen here.
    agent.send("Still there?")
    expect(page.get_by_text("Still there?")).to_be_visible()
    expect(page.locator("input:checked")).to_have_count(0)
    other.keyboard.press("Enter")
    expect(page.locator(f"#card-{question['id']}")).to_contain_text("Answered by you")
    expect(page.locator(".ab-lost")).to_have_count(0)


def test_a_draft_is_for_its_writer_alone(
    agent: Agent, open_browser: Callable[..., BrowserContext], bridge: Bridge
) -> None:
    agent.ask()
    context = open_browser("ana")
    page = context.new_page()
    page.goto(f"/rooms/{agent.room}")
    page.get_by_role("radio", name="Other").check()
    page.get_by_label("Your own answer").fill("half a thought")
    # The same browser, another person.
    address = f"http://127.0.0.1:{bridge.site.port}"
    cookies = bridge.person("ben", bridge.site).cookies
    context.add_cookies([{"name": name, "value": value, "url": address} for name, value in cookies.items()])
    page.reload()
    expect(page.get_by_role("banner").get_by_text("Ben Okafor")).to_be_visible()
    expect(page.get_by_role("radio", name="Other")).not_to_be_checked()


def test_a_draft_that_was_restored_is_not_sent_by_itself(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    page = room_page()
    page.get_by_role("radio", name="PostgreSQL").focus()
    page.keyboard.press("ArrowDown")
    page.reload()
    expect(page.get_by_role("radio", name="SQLite")).to_be_checked()
    assert agent.read(question["id"])["status"] == "open"
