"""The keyboard alone: keys act on the card that has the focus, and never in a text field."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import TWO_PROMPTS, next_step
from tests.harness.timing import eventually

RoomPage = Callable[..., Page]


def tab_to(page: Page, target: Locator) -> None:
    """Reach it with the keyboard alone."""
    for _ in range(20):
        page.keyboard.press("Tab")
        if target.evaluate("(element) => element === document.activeElement"):
            return
    expect(target).to_be_focused()


def test_from_the_login_to_the_answer_without_a_mouse(
    agent: Agent, open_browser: Callable[..., BrowserContext], password: str
) -> None:
    first, second = agent.ask(), agent.ask(questions=TWO_PROMPTS)
    page = open_browser("").new_page()
    page.goto(f"/rooms/{agent.room}")
    expect(page.get_by_label("User name")).to_be_focused()
    page.keyboard.type("cleo")
    page.keyboard.press("Tab")
    page.keyboard.type(password)
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name=agent.room)).to_be_visible()
    page.wait_for_load_state()  # the keys are listened to from here on
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()

    page.keyboard.press("j")
    card = page.locator(f"#card-{first['id']}")
    expect(card).to_be_focused()
    tab_to(page, card.get_by_role("radio", name="PostgreSQL"))
    page.keyboard.press("ArrowDown")
    expect(card.get_by_role("radio", name="SQLite")).to_be_checked()
    assert agent.read(first["id"])["status"] == "open"
    page.keyboard.press("Enter")
    expect(card).to_contain_text("Answered by you")
    expect(card.locator(".ab-settled > summary")).to_be_focused()
    page.keyboard.press("Enter")
    expect(card.get_by_role("heading", name="Which database?")).to_be_visible()

    page.keyboard.press("j")
    card = page.locator(f"#card-{second['id']}")
    expect(card).to_be_focused()
    tab_to(page, card.get_by_role("checkbox", name="Unit tests"))
    page.keyboard.press("Space")
    tab_to(page, card.get_by_role("checkbox", name="Other"))
    page.keyboard.press("Space")
    expect(card.get_by_label("Your own answer to: Which checks")).to_be_focused()
    page.keyboard.type("License scan")
    page.keyboard.press("Control+Enter")
    expect(card.get_by_role("radio", name="Now")).to_be_focused()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(card.get_by_role("button", name="Submit")).to_be_focused()
    page.keyboard.press("Enter")
    expect(card).to_contain_text("Answered by you")
    expect(card).to_contain_text("Checks: Unit tests, License scan")
    expect(card).to_contain_text("Time: Now")


def test_writing_to_the_agents_without_a_mouse(agent: Agent, room_page: RoomPage) -> None:
    page = room_page()
    field = page.get_by_label("Message the agents")
    tab_to(page, page.get_by_role("link", name="Skip to content"))
    page.keyboard.press("Enter")
    tab_to(page, field)
    page.keyboard.type("Please hurry")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".ab-message-text")).to_have_text("Please hurry")
    expect(field).to_have_value("")
    expect(field).to_be_focused()
    page.keyboard.type("Please")
    tab_to(page, page.get_by_role("button", name="Send", exact=True))
    page.keyboard.press("Enter")
    expect(page.locator(".ab-message-text")).to_have_count(2)
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_focused()


def test_what_is_typed_while_a_message_is_on_its_way_begins_the_next(
    agent: Agent, room_page: RoomPage
) -> None:
    page = room_page()
    held: list[Route] = []
    page.route("**/messages", lambda route: held.append(route))
    field = page.get_by_label("Message the agents")
    field.press_sequentially("Wait for me.")
    page.keyboard.press("Control+Enter")
    eventually(lambda: page.title() and held)
    page.keyboard.type("Go on.")
    held.pop().continue_()
    expect(page.locator(".ab-message-text")).to_have_text("Wait for me.")
    expect(field).to_have_value("Go on.")
    expect(field).to_be_focused()
    page.keyboard.type(" Now.")
    page.unroute("**/messages")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".ab-message-text")).to_have_text(["Go on. Now.", "Wait for me."])


def answered_by_ben(agent: Agent, bridge: Bridge, question: dict[str, str]) -> None:
    bridge.person("ben").answer(question, "SQLite")


def withdrawn(agent: Agent, bridge: Bridge, question: dict[str, str]) -> None:
    agent.call("DELETE", f"/api/v1/questions/{question['id']}")


@pytest.mark.parametrize("settle", [answered_by_ben, withdrawn])
@pytest.mark.parametrize("place", ["card", "option", "text", "reason"])
def test_the_focus_stays_on_a_card_that_another_person_settles(
    agent: Agent, bridge: Bridge, room_page: RoomPage, place: str, settle: Callable[..., None]
) -> None:
    question = agent.ask()
    page = room_page()
    card = page.locator(f"#card-{question['id']}")
    page.keyboard.press("j")
    if place == "option":
        page.keyboard.press("1")
    elif place == "text":
        page.keyboard.press("3")
    elif place == "reason":
        page.keyboard.press("s")
    settle(agent, bridge, question)
    expect(card.locator(".ab-badge")).to_be_visible()
    expect(card.locator(".ab-settled > summary")).to_be_focused()


@pytest.mark.parametrize("name", ["Answer Now", "Skip this question"])
def test_the_focus_stays_on_a_card_whose_button_was_pressed(
    agent: Agent, room_page: RoomPage, name: str
) -> None:
    agent.ask(questions=TWO_PROMPTS[1:])
    page = room_page()
    page.keyboard.press("j")
    page.keyboard.press("1" if name == "Answer Now" else "s")
    tab_to(page, page.get_by_role("button", name=name))
    page.keyboard.press("Enter")
    expect(page.locator(".ab-badge")).to_contain_text("by you")
    expect(page.locator(".ab-settled > summary")).to_be_focused()


def test_the_focus_stays_on_a_card_that_one_skips(agent: Agent, room_page: RoomPage) -> None:
    agent.ask()
    page = room_page()
    page.keyboard.press("j")
    page.keyboard.press("s")
    page.keyboard.press("Enter")
    expect(page.get_by_role("article")).to_contain_text("Skipped by you")
    expect(page.locator(".ab-settled > summary")).to_be_focused()


def test_the_preview_of_each_option_can_be_read_and_scrolled(agent: Agent, room_page: RoomPage) -> None:
    lines = "\n".join(f"{number:3} {'wide ' * 10}" for number in range(100))
    options = [{"label": label, "preview": f"{label}\n{lines}"} for label in ("Left", "Right")]
    agent.ask(questions=[{"question": "Which layout?", "header": "Layout", "options": options}])
    page = room_page()
    page.keyboard.press("j")
    tab_to(page, page.get_by_role("radio", name="Left"))
    page.keyboard.press("ArrowDown")
    preview = page.get_by_label("Preview of Right")
    expect(preview).to_have_css("opacity", "1")
    expect(page.get_by_label("Preview of Left")).to_have_css("opacity", "0")
    page.keyboard.press("Tab")
    expect(preview).to_be_focused()
    page.keyboard.press("End")
    page.wait_for_function("(preview) => preview.scrollTop > 0", arg=preview.element_handle())


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
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("radio", name="Now")).to_be_focused()
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    expect(page.get_by_role("article")).to_contain_text("Checks: Unit tests, 2 jobs? sk")
    assert agent.read(question["id"])["answer"]["answers"][1]["selectedOptions"] == ["Tonight"]


def test_s_asks_for_a_reason_before_it_skips(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    page = room_page()
    page.keyboard.press("j")
    page.keyboard.press("s")
    expect(page.get_by_label("Reason (optional, shown to the agent)")).to_be_focused()
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
    expect(page.get_by_role("radio", name="Other")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(f"#card-{question['id']}")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(f"#card-{question['id']}")).not_to_be_focused()


def test_escape_closes_skip_and_ask_back(agent: Agent, room_page: RoomPage) -> None:
    agent.ask()
    page = room_page()
    page.keyboard.press("j")
    for key, field in (("s", "Reason (optional, shown to the agent)"), ("a", "Your reply to the agent")):
        page.keyboard.press(key)
        expect(page.get_by_label(field)).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.get_by_label(field)).to_be_hidden()
        expect(page.get_by_role("article")).to_be_focused()


def test_on_the_page_of_a_question_keys_mean_its_card(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    page = room_page()
    page.goto(question["url"])
    page.keyboard.press("2")
    expect(page.get_by_role("radio", name="SQLite")).to_be_checked()
    page.keyboard.press("Enter")
    expect(page.get_by_role("article")).to_contain_text("Answered by you")


def test_enter_on_the_card_sends_what_is_chosen(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    page = room_page()
    page.keyboard.press("j")
    page.keyboard.press("Enter")  # nothing is chosen
    page.keyboard.press("2")
    page.keyboard.press("n")
    page.keyboard.type("It is small")
    page.keyboard.press("Escape")
    expect(page.get_by_role("article")).to_be_focused()
    assert agent.read(question["id"])["status"] == "open"
    page.keyboard.press("Enter")
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    assert agent.read(question["id"])["answer"]["answers"][0]["notes"] == "It is small"


def test_a_slash_searches_the_history(agent: Agent, room_page: RoomPage) -> None:
    page = room_page()
    page.keyboard.press("/")
    search = page.get_by_role("searchbox")
    expect(search).to_be_focused()
    search.blur()
    page.keyboard.press("/")
    expect(search).to_be_focused()


def test_arrows_move_between_the_options_of_a_multi_select(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask(questions=TWO_PROMPTS)
    page = room_page()
    boxes = page.get_by_role("checkbox")
    count = boxes.count()
    boxes.first.focus()
    for place in [*range(1, count), 0]:
        page.keyboard.press("ArrowDown")
        expect(boxes.nth(place)).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(boxes.last).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(boxes.nth(count - 2)).to_be_focused()
    # Moving ticks nothing, as Space does, and sends nothing.
    expect(page.locator("input:checked")).to_have_count(0)
    page.keyboard.press("Space")
    expect(boxes.nth(count - 2)).to_be_checked()
    assert agent.read(question["id"])["status"] == "open"


@pytest.mark.parametrize("role", ["checkbox", "radio"])
def test_up_on_its_first_line_leaves_the_text_of_other(agent: Agent, room_page: RoomPage, role: str) -> None:
    agent.ask(questions=TWO_PROMPTS[:1] if role == "checkbox" else TWO_PROMPTS[1:])
    page = room_page()
    other = page.get_by_role(role, name="Other")
    field = page.get_by_label("Your own answer to")
    other.check()
    expect(field).to_be_focused()
    page.keyboard.type("one\ntwo")
    page.keyboard.press("ArrowUp")
    expect(field).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(other).to_be_focused()
    expect(other).to_be_checked()
    expect(field).to_have_value("one\ntwo")
    # On from there to the option before it.
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role(role).nth(-2)).to_be_focused()


def test_up_within_a_long_line_of_other_stays_in_its_text(agent: Agent, room_page: RoomPage) -> None:
    agent.ask()
    page = room_page(viewport={"width": 390, "height": 800})
    page.get_by_role("radio", name="Other").check()
    field = page.get_by_label("Your own answer to")
    page.keyboard.type("many words that need more than the one line of a phone " * 2)
    lines = 0
    while field.evaluate("(element) => element === document.activeElement"):
        page.keyboard.press("ArrowUp")
        lines += 1
        assert lines < 20
    expect(page.get_by_role("radio", name="Other")).to_be_focused()
    assert lines > 2


def test_numbers_act_on_the_current_step(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask(questions=TWO_PROMPTS)
    page = room_page()
    next_step(page)
    expect(page.get_by_role("radio", name="Now")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(f"#card-{question['id']}")).to_be_focused()
    page.keyboard.press("2")
    expect(page.locator(".ab-review-choice").last).to_have_text("Tonight")
    expect(page.locator("input:checked")).to_have_count(1)


def test_a_question_mark_shows_the_list(agent: Agent, room_page: RoomPage) -> None:
    page = room_page()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_hidden()


def test_the_tab_says_how_many_are_open(agent: Agent, room_page: RoomPage) -> None:
    page = room_page()
    agent.ask()
    page.wait_for_function("() => /^\\(\\d+\\) /.test(document.title)")
    expect(page.locator("link[rel=icon]")).to_have_attribute("href", re.compile(r"/icon-badge\.\w+\.svg$"))
