"""The pages on a phone: bar at the bottom, one card per screen, taps, swipes, the icon of the composer."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from rooms.pages.inbox import ROWS
from tests.harness.accessibility import expect_no_problems
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import TWO_PROMPTS, wait_for_still_cards, wait_for_stream

OpenBrowser = Callable[..., BrowserContext]

LONG = {
    "question": "Which of these?",
    "options": [{"label": f"Option {number}", "description": "Words. " * 60} for number in range(4)],
}


@pytest.fixture(params=[390, 320])
def phone(open_browser: OpenBrowser, request: pytest.FixtureRequest) -> Page:
    return phone_page(open_browser, width=request.param)


def phone_page(open_browser: OpenBrowser, width: int = 390, **options: object) -> Page:
    height = 844 if width == 390 else 568
    how = {"viewport": {"width": width, "height": height}, "has_touch": True, "is_mobile": True, **options}
    return open_browser("eli", **how).new_page()


@pytest.fixture
def choose(bridge: Bridge) -> Iterator[Callable[..., None]]:
    """Eli's settings; back to the defaults after the test."""
    eli = bridge.person("eli", bridge.site)
    yield lambda **fields: eli.post("/settings", fields)
    eli.post("/settings", {"keyboard": "on"})


def card(page: Page) -> Locator:
    return page.locator("#ab-focus .ab-card")


def send_button(page: Page) -> Locator:
    return card(page).locator(".ab-submit")


def tap_option(page: Page, label: str) -> None:
    wait_for_still_cards(page)
    page.locator(".ab-option").get_by_text(label, exact=True).first.tap()


def open_card(page: Page, agent: Agent, question: dict[str, str]) -> None:
    page.goto(f"/?room={agent.room}&question={question['id']}")
    wait_for_stream(page)


def top_of(element: Locator) -> float:
    return float(element.evaluate("(element) => element.getBoundingClientRect().top"))


def bottom_of(element: Locator) -> float:
    return float(element.evaluate("(element) => element.getBoundingClientRect().bottom"))


def is_wider(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))


# ---- the bar ---------------------------------------------------------------------------------------------


def test_the_bar_leads_to_every_page_and_says_where_one_is(phone: Page, agent: Agent) -> None:
    phone.goto("/")
    bar = phone.get_by_role("navigation", name="Pages")
    expect(bar).to_be_in_viewport()
    expect(phone.locator(".ab-rail")).to_be_hidden()
    for name, address in (("Rooms", "/rooms"), ("History", "/history"), ("You", "/settings"), ("Inbox", "/")):
        bar.get_by_role("link", name=name).tap()
        phone.wait_for_url(f"**{address}")
        expect(bar.locator("[aria-current]")).to_contain_text(name)
        expect(bar).to_be_in_viewport()


def test_the_list_of_rooms_counts_live_and_leads_to_a_room(phone: Page, agent: Agent) -> None:
    phone.goto("/rooms")
    wait_for_stream(phone)
    link = phone.locator(f'.ab-rooms-link[href$="/rooms/{agent.room}"]')
    expect(link.locator(".ab-count")).to_be_hidden()
    agent.ask()
    expect(link.locator(".ab-count")).to_have_text("1")
    link.tap()
    phone.wait_for_url(f"**/rooms/{agent.room}")
    expect(phone.locator(".ab-tab[aria-current]")).to_have_text("Rooms")


def test_what_the_rail_has_besides_is_on_the_settings_page(phone: Page) -> None:
    phone.goto("/settings")
    expect(phone.get_by_role("link", name="Insights")).to_be_visible()
    expect(phone.get_by_role("button", name="Sign out")).to_be_visible()


def test_a_wide_page_has_the_rail_and_no_bar(open_browser: OpenBrowser) -> None:
    page = open_browser("eli").new_page()
    page.goto("/settings")
    expect(page.locator(".ab-tabs")).to_be_hidden()
    expect(page.locator(".ab-you")).to_be_hidden()
    page.locator(".ab-rail").get_by_role("link", name="Rooms").click()
    expect(page.get_by_role("heading", name="Rooms", level=1)).to_be_visible()


def test_the_bar_covers_nothing_at_the_end_of_a_page(phone: Page) -> None:
    phone.goto("/settings")
    phone.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    assert bottom_of(phone.get_by_role("button", name="Save")) <= top_of(phone.locator(".ab-tabs"))


# ---- taps ------------------------------------------------------------------------------------------------


def test_a_tap_selects_and_the_button_sends(phone: Page, agent: Agent) -> None:
    question = agent.ask()
    open_card(phone, agent, question)
    tap_option(phone, "SQLite")
    expect(card(phone).get_by_role("radio", name="SQLite")).to_be_checked()
    tap_option(phone, "PostgreSQL")
    assert agent.read(question["id"])["status"] == "open"
    button = send_button(phone)
    expect(button).to_be_in_viewport()
    button.tap()
    expect(phone.locator("#ab-last")).to_contain_text("Answered by you")
    assert agent.read(question["id"])["answer"]["answers"][0]["selectedOptions"] == ["PostgreSQL"]


def test_one_tap_answers_for_who_chose_it(
    open_browser: OpenBrowser, agent: Agent, choose: Callable[..., None]
) -> None:
    choose(one_tap="on")
    question = agent.ask()
    page = phone_page(open_browser)
    open_card(page, agent, question)
    tap_option(page, "SQLite")
    expect(page.locator("#ab-last")).to_contain_text("Answered by you")
    assert agent.read(question["id"])["status"] == "answered"


def test_a_mouse_at_a_touch_screen_still_answers_with_one_click(
    open_browser: OpenBrowser, agent: Agent
) -> None:
    question = agent.ask()
    page = phone_page(open_browser)
    open_card(page, agent, question)
    wait_for_still_cards(page)
    page.locator(".ab-option").get_by_text("SQLite", exact=True).click()
    expect(page.locator("#ab-last")).to_contain_text("Answered by you")
    assert agent.read(question["id"])["status"] == "answered"


def test_a_tap_at_a_screen_with_a_mouse_brings_the_button(open_browser: OpenBrowser, agent: Agent) -> None:
    question = agent.ask()
    page = open_browser("eli", has_touch=True, viewport={"width": 1280, "height": 800}).new_page()
    open_card(page, agent, question)
    tap_option(page, "SQLite")
    assert agent.read(question["id"])["status"] == "open"
    send_button(page).tap()
    expect(page.locator("#ab-last")).to_contain_text("Answered by you")


SMALL = """() => [...document.querySelectorAll([
        ".ab-tab", ".ab-step", ".ab-back", ".ab-submit", ".ab-option", ".ab-note summary",
        ".ab-instead summary", ".ab-row-link", ".ab-fold", ".ab-inbox-filters select", ".ab-inbox-mine",
        ".ab-rooms-link", ".ab-composer-icon", ".ab-page-actions .ab-button", ".ab-you .ab-button",
    ].join())].filter((target) => target.checkVisibility() && target.getBoundingClientRect().height < 44)
    .map((target) => target.className)"""


def test_everything_to_tap_is_44_px_high(phone: Page, agent: Agent) -> None:
    question, _ = agent.ask(), agent.ask()
    for address in ("/", f"/?question={question['id']}", "/rooms", f"/rooms/{agent.room}", "/settings"):
        phone.goto(address)
        assert phone.evaluate(SMALL) == [], address


# ---- one card per screen ---------------------------------------------------------------------------------


def test_the_button_and_next_are_in_sight_of_a_long_card(phone: Page, agent: Agent) -> None:
    question, _ = agent.ask(questions=[LONG]), agent.ask()
    open_card(phone, agent, question)
    tall = card(phone).evaluate("(card) => card.offsetHeight > innerHeight")
    assert tall
    button = send_button(phone)
    following = phone.get_by_role("link", name="Next: 1 waiting")
    for place in (0, 200, 10_000):
        phone.evaluate("(place) => scrollTo(0, place)", place)
        expect(button).to_be_in_viewport(ratio=1)
        expect(following).to_be_in_viewport(ratio=1)
        assert bottom_of(button) <= top_of(following)


def test_the_button_of_a_long_label_stays_within_its_card(phone: Page, agent: Agent) -> None:
    options = ["Yes", "One column with a rather long name that wraps around on a phone"]
    question = agent.ask(questions=[{"question": "Which layout?", "options": options}])
    for address in (f"/?room={agent.room}&question={question['id']}", f"/rooms/{agent.room}"):
        phone.goto(address)
        wait_for_stream(phone)
        tap_option(phone, options[1])
        button = phone.locator(".ab-submit")
        expect(button).to_contain_text("Answer One column")
        rights = [
            element.evaluate("(element) => element.getBoundingClientRect().right")
            for element in (button, phone.locator(".ab-card-form"))
        ]
        assert rights[0] <= rights[1]


def test_a_short_card_fills_the_screen(phone: Page, agent: Agent) -> None:
    question, _ = agent.ask(), agent.ask()
    open_card(phone, agent, question)
    assert top_of(send_button(phone)) > phone.evaluate("innerHeight / 2")


def test_next_and_previous_move_between_cards(phone: Page, agent: Agent) -> None:
    first, second, third = agent.ask(), agent.ask(), agent.ask()
    open_card(phone, agent, first)
    for following in (second, third, first):
        phone.get_by_role("link", name="Next: 2 waiting").tap()
        expect(card(phone)).to_have_attribute("id", f"card-{following['id']}")
    phone.get_by_role("link", name="Next").tap()
    expect(card(phone)).to_have_attribute("id", f"card-{second['id']}")
    phone.get_by_role("link", name="Previous").tap()
    expect(card(phone)).to_have_attribute("id", f"card-{first['id']}")


SWIPE = """([from, to]) => {
    const card = document.querySelector("#ab-focus .ab-card");
    const touch = (x) => new Touch({ identifier: 1, target: card, clientX: x, clientY: 300 });
    const send = (name, touches, changedTouches) =>
        card.dispatchEvent(new TouchEvent(name, { bubbles: true, touches, changedTouches }));
    send("touchstart", [touch(from)], [touch(from)]);
    send("touchend", [], [touch(to)]);
}"""


def test_a_swipe_goes_to_the_next_and_back(phone: Page, agent: Agent) -> None:
    first, second = agent.ask(), agent.ask()
    open_card(phone, agent, first)
    phone.evaluate(SWIPE, [250, 60])
    expect(card(phone)).to_have_attribute("id", f"card-{second['id']}")
    phone.evaluate(SWIPE, [150, 120])  # a tap of a hand that moves
    phone.evaluate(SWIPE, [60, 250])
    expect(card(phone)).to_have_attribute("id", f"card-{first['id']}")


def test_an_answer_leads_to_the_next_card_at_its_top(phone: Page, agent: Agent) -> None:
    first, second = agent.ask(questions=[LONG]), agent.ask(questions=[LONG])
    open_card(phone, agent, first)
    tap_option(phone, "Option 3")
    send_button(phone).tap()
    expect(card(phone)).to_have_attribute("id", f"card-{second['id']}")
    expect(phone.locator("#ab-last")).to_be_in_viewport()
    assert agent.read(first["id"])["status"] == "answered"


def test_a_new_question_brings_next_to_the_card_that_is_open(phone: Page, agent: Agent) -> None:
    open_card(phone, agent, agent.ask())
    expect(phone.locator(".ab-pager")).to_be_hidden()
    following = agent.ask()
    phone.get_by_role("link", name="Next: 1 waiting").tap()
    expect(card(phone)).to_have_attribute("id", f"card-{following['id']}")


def test_the_list_keeps_its_place_while_a_card_is_open(phone: Page, agent: Agent) -> None:
    asked = [agent.ask() for _ in range(ROWS)]
    phone.goto(f"/?room={agent.room}")
    wait_for_stream(phone)
    row = phone.locator(f"#row-{asked[-1]['id']}")
    row.scroll_into_view_if_needed()
    place = phone.evaluate("scrollY")
    assert place > 0
    row.tap()
    expect(card(phone)).to_be_visible()
    phone.get_by_role("link", name="← Inbox").tap()
    expect(row).to_be_in_viewport()
    phone.wait_for_function("(place) => scrollY === place", arg=place)


# ---- the composer ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", [True, False])
def test_the_composer_is_behind_an_icon(open_browser: OpenBrowser, agent: Agent, script: bool) -> None:
    agent.ask()
    page = phone_page(open_browser, java_script_enabled=script)
    page.goto(f"/rooms/{agent.room}")
    field = page.get_by_label("Message the agents")
    expect(field).to_be_hidden()
    page.locator(".ab-composer-icon").tap()
    expect(field).to_be_in_viewport()
    if script:
        expect(field).to_be_focused()
    field.fill("Please hurry")
    page.get_by_role("button", name="Send").tap()
    expect(page.locator("#ab-timeline .ab-message").first).to_contain_text("Please hurry")
    assert [one["content"] for one in agent.get(agent.messages_url).json()["messages"]][-1] == "Please hurry"


def test_the_icon_of_the_composer_stands_beside_the_button(phone: Page, agent: Agent) -> None:
    agent.ask(questions=[LONG])
    phone.goto(f"/rooms/{agent.room}")
    tap_option(phone, "Option 3")
    button = phone.locator(".ab-submit").bounding_box()
    icon = phone.locator(".ab-composer-icon").bounding_box()
    assert button["x"] + button["width"] <= icon["x"]  # type: ignore[index]


# ---- every page ------------------------------------------------------------------------------------------


def test_no_page_scrolls_sideways_on_a_phone(phone: Page, agent: Agent, bridge: Bridge) -> None:
    open_one, settled = agent.ask(questions=TWO_PROMPTS), agent.ask()
    bridge.person("eli", bridge.site).answer(settled, "SQLite")
    room = f"/rooms/{agent.room}"
    pages = ["/", "/rooms", "/history", "/history/export", "/insights", "/settings", room, f"{room}/connect"]
    pages += [f"{room}/insights", f"/?question={open_one['id']}", f"{room}/questions/{open_one['id']}"]
    pages += [f"{room}/questions/{settled['id']}"]
    for address in pages:
        phone.goto(address)
        assert not is_wider(phone), address


def test_the_phone_pages_are_accessible(open_browser: OpenBrowser, agent: Agent) -> None:
    question, _ = agent.ask(), agent.ask()
    page = phone_page(open_browser)
    page.goto("/rooms")
    expect_no_problems(page)
    open_card(page, agent, question)
    tap_option(page, "SQLite")
    expect_no_problems(page)
    page.goto(f"/rooms/{agent.room}")
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator(".ab-composer-icon").tap()
    expect_no_problems(page)
