"""Several prompts as steps: one at a time, back and forth, a review before anything is sent."""

from collections.abc import Callable

from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.harness.accessibility import expect_no_problems
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import next_step, wait_for_still_cards

RoomPage = Callable[..., Page]

THREE_PROMPTS = [
    {"question": "Which version?", "header": "Version", "options": ["2.4.0", "3.0.0"]},
    {
        "question": "Which checks?",
        "header": "Checks",
        "multiSelect": True,
        "options": ["Unit tests", "Browser tests"],
    },
    {"question": "When?", "header": "Time", "options": ["Now", "Tonight"]},
]


def chosen(agent: Agent, question: dict[str, str]) -> list[list[str]]:
    return [choice["selectedOptions"] for choice in agent.read(question["id"])["answer"]["answers"]]


def option(page: Page, label: str) -> Locator:
    return page.locator(".ab-option").get_by_text(label, exact=True).filter(visible=True)


def expect_step(page: Page, name: str, place: str) -> None:
    """Only this prompt is shown, and the card says where it is."""
    expect(page.locator(".ab-prompt").filter(visible=True)).to_have_count(1)
    expect(page.get_by_role("group", name=name)).to_be_visible()
    expect(page.locator(".ab-steps-place")).to_have_text(place)


def test_a_single_choice_steps_on_and_nothing_is_sent_before_submit(
    agent: Agent, room_page: RoomPage
) -> None:
    question = agent.ask(questions=THREE_PROMPTS)
    page = room_page()
    expect_step(page, "Which version?", "1 of 3")
    expect(page.get_by_role("button", name="Submit")).to_be_hidden()
    expect(page.get_by_role("button", name="Back")).to_be_hidden()
    option(page, "3.0.0").click()
    expect_step(page, "Which checks?", "2 of 3")
    expect(page.locator("[aria-current=step]")).to_have_accessible_name("2 Checks")
    page.get_by_role("checkbox", name="Unit tests").check()
    page.get_by_role("checkbox", name="Browser tests").check()
    expect_step(page, "Which checks?", "2 of 3")
    page.get_by_role("button", name="Next: Time").click()
    option(page, "Tonight").click()
    expect(page.locator(".ab-prompt").filter(visible=True)).to_have_count(0)
    review = page.locator(".ab-review-choice")
    expect(review).to_have_text(["3.0.0", "Unit tests, Browser tests", "Tonight"])
    assert agent.read(question["id"])["status"] == "open"
    page.get_by_role("button", name="Back").click()
    expect_step(page, "When?", "3 of 3")
    expect(page.get_by_role("radio", name="Tonight")).to_be_checked()
    # The same choice again goes on as well.
    option(page, "Tonight").click()
    page.get_by_role("button", name="Version").click()
    expect_step(page, "Which version?", "1 of 3")
    option(page, "2.4.0").click()
    next_step(page)
    next_step(page)
    expect(review.first).to_have_text("2.4.0")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    assert chosen(agent, question) == [["2.4.0"], ["Unit tests", "Browser tests"], ["Tonight"]]


def test_the_steps_by_keyboard_alone(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask(questions=THREE_PROMPTS)
    page = room_page()
    page.keyboard.press("j")
    page.keyboard.press("2")
    expect(page.get_by_role("checkbox", name="Unit tests")).to_be_focused()
    page.keyboard.press("1")
    expect(page.get_by_role("checkbox", name="Unit tests")).to_be_checked()
    page.keyboard.press("Enter")
    expect(page.get_by_role("radio", name="Now")).to_be_focused()
    # Arrows choose without going on.
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="Tonight")).to_be_checked()
    expect_step(page, "When?", "3 of 3")
    page.keyboard.press("n")
    note = page.get_by_role("group", name="When?").get_by_label("Note for the agent")
    expect(note).to_be_focused()
    page.keyboard.type("After eight")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name="Submit")).to_be_focused()
    assert agent.read(question["id"])["status"] == "open"
    page.keyboard.press("Enter")
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    assert chosen(agent, question) == [["3.0.0"], ["Unit tests"], ["Tonight"]]
    assert agent.read(question["id"])["answer"]["answers"][2]["notes"] == "After eight"


def test_a_double_click_does_not_choose_in_the_next_step(agent: Agent, room_page: RoomPage) -> None:
    agent.ask(questions=[THREE_PROMPTS[0], THREE_PROMPTS[2]])
    page = room_page()
    option(page, "2.4.0").dblclick()
    expect_step(page, "When?", "2 of 2")
    expect(page.locator("input:checked")).to_have_count(1)


def test_errors_stand_at_their_prompt_and_lead_to_the_first_one(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask(questions=THREE_PROMPTS)
    page = room_page()
    option(page, "2.4.0").click()
    next_step(page)
    next_step(page)
    expect(page.locator(".ab-review-choice")).to_have_text(["2.4.0", "nothing chosen", "nothing chosen"])
    expect_no_problems(page)
    page.get_by_role("button", name="Submit").click()
    expect_step(page, "Which checks?", "2 of 3")
    error = page.get_by_text("Needs an option or a text of your own.").filter(visible=True)
    expect(error).to_be_visible()
    expect(page.get_by_role("group", name="Which checks?")).to_have_accessible_description(
        "Needs an option or a text of your own."
    )
    expect(page.get_by_role("checkbox", name="Unit tests")).to_be_focused()
    expect_no_problems(page)
    page.get_by_role("checkbox", name="Unit tests").check()
    expect(error).to_have_count(0)
    next_step(page)
    expect(error).to_be_visible()
    wait_for_still_cards(page)  # the window had another width, where the card was in another place
    option(page, "Now").click()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    assert chosen(agent, question) == [["2.4.0"], ["Unit tests"], ["Now"]]


def test_live_updates_leave_the_step_alone(agent: Agent, room_page: RoomPage, bridge: Bridge) -> None:
    question = agent.ask(questions=THREE_PROMPTS)
    page = room_page()
    option(page, "3.0.0").click()
    page.get_by_role("checkbox", name="Other").check()
    page.get_by_label("Your own answer to: Which checks?").fill("License scan")
    with agent.waiting(question["id"]):
        expect(page.get_by_role("article")).to_contain_text("Waiting 0:")
        expect_step(page, "Which checks?", "2 of 3")
        expect(page.get_by_label("Your own answer to: Which checks?")).to_be_focused()
    page.reload()
    # On from the first prompt without an answer.
    expect_step(page, "When?", "3 of 3")
    option(page, "Now").click()
    expect(page.locator(".ab-review-choice")).to_have_text(["3.0.0", "License scan", "Now"])


def test_a_card_that_arrives_live_is_a_stepper(agent: Agent, room_page: RoomPage) -> None:
    page = room_page()
    agent.ask(questions=THREE_PROMPTS)
    expect_step(page, "Which version?", "1 of 3")
    expect_no_problems(page)


def test_without_javascript_all_prompts_are_shown(
    agent: Agent, open_browser: Callable[..., BrowserContext]
) -> None:
    question = agent.ask(questions=THREE_PROMPTS)
    page = open_browser("ana", java_script_enabled=False).new_page()
    page.goto(f"/rooms/{agent.room}")
    expect(page.locator(".ab-prompt").filter(visible=True)).to_have_count(3)
    expect(page.locator(".ab-steps, .ab-review, .ab-steps-next").filter(visible=True)).to_have_count(0)
    page.get_by_role("radio", name="2.4.0").check()
    page.get_by_role("checkbox", name="Unit tests").check()
    page.get_by_role("button", name="Submit").click()
    error = page.get_by_role("group", name="When?").get_by_text("Needs an option or a text of your own.")
    expect(error).to_be_visible()
    page.get_by_role("radio", name="Now").check()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    assert chosen(agent, question) == [["2.4.0"], ["Unit tests"], ["Now"]]
