"""Choices of the Settings page, in all pages and browsers of that person."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.harness.accessibility import expect_no_problems
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import click_option

RoomPage = Callable[..., Page]
OpenBrowser = Callable[..., BrowserContext]

pytestmark = pytest.mark.whole_browser

# No other test uses this account: its settings must not affect them.
PERSON = "eli"


@pytest.fixture
def choose(bridge: Bridge) -> Iterator[Callable[..., None]]:
    """Save settings as the form does; after the test they are what they were at first."""
    eli = bridge.person(PERSON, bridge.site)

    def save(**fields: str) -> None:
        assert eli.post("/settings", fields).status == 303

    save(keyboard="on")
    yield save
    save(keyboard="on")


def save(page: Page) -> None:
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()


# ---- always press Submit ---------------------------------------------------------------------------------


def test_a_click_only_chooses_for_those_who_want_to_press_submit(
    agent: Agent, room_page: RoomPage, open_browser: OpenBrowser, choose: object
) -> None:
    page = open_browser(PERSON).new_page()
    page.goto("/settings")
    page.get_by_label("Always confirm with Submit").check()
    save(page)
    expect(page.get_by_label("Always confirm with Submit")).to_be_checked()

    question = agent.ask()
    # In another browser of the same person too, and after a reload.
    page = room_page(PERSON)
    page.reload()
    expect(page.get_by_text("Click to answer")).to_be_hidden()
    click_option(page, "PostgreSQL")
    click_option(page, "SQLite")
    expect(page.get_by_role("radio", name="SQLite")).to_be_checked()
    assert agent.read(question["id"])["status"] == "open"
    button = page.get_by_role("button", name="Answer SQLite")
    assert button.bounding_box()["height"] >= 44
    button.click()
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    assert agent.read(question["id"])["answer"]["answers"][0]["selectedOptions"] == ["SQLite"]


def test_a_card_that_comes_later_waits_for_submit_too(
    agent: Agent, room_page: RoomPage, choose: Callable[..., None]
) -> None:
    choose(always_submit="on", keyboard="on")
    page = room_page(PERSON)
    question = agent.ask()
    click_option(page, "SQLite")
    expect(page.get_by_role("radio", name="SQLite")).to_be_checked()
    assert agent.read(question["id"])["status"] == "open"


# ---- keyboard --------------------------------------------------------------------------------------------


def test_without_shortcuts_no_key_does_anything_by_itself(
    agent: Agent, room_page: RoomPage, choose: Callable[..., None]
) -> None:
    question = agent.ask()
    choose()
    page = room_page(PERSON)
    card = page.locator(f"#card-{question['id']}")
    for key in ("j", "k", "?"):
        page.keyboard.press(key)
    expect(card).not_to_be_focused()
    expect(page.get_by_role("dialog")).to_be_hidden()
    card.focus()
    for key in ("1", "2", "s", "Escape"):
        page.keyboard.press(key)
    expect(card).to_be_focused()
    expect(page.locator("input:checked")).to_have_count(0)
    expect(page.get_by_label("Reason (optional, shown to the agent)")).to_be_hidden()
    page.get_by_role("radio", name="Other").check()
    page.get_by_label("Your own answer").fill("half a thought")
    page.keyboard.press("Control+Enter")
    page.keyboard.press("Escape")
    expect(page.get_by_label("Your own answer")).to_be_focused()
    assert agent.read(question["id"])["status"] == "open"


def test_numbers_that_do_nothing_are_not_shown(
    agent: Agent, room_page: RoomPage, choose: Callable[..., None]
) -> None:
    agent.ask()
    number = "getComputedStyle(document.querySelector('.ab-option input'), '::before').content"
    page = room_page(PERSON)
    assert "counter" in page.evaluate(number)
    choose()
    page.reload()
    assert page.evaluate(number) == "none"


# ---- attention -------------------------------------------------------------------------------------------


def calling(page: Page) -> Locator:
    """The number beside the inbox in the rail."""
    return page.locator("[data-total]").first


def expect_calls(page: Page, count: int) -> None:
    expect(calling(page)).to_have_text(str(count))
    expect(page).to_have_title(re.compile(rf"^\({count}\) " if count else r"^[^(]"))


def test_a_muted_room_leaves_title_and_rail_alone(
    agent: Agent, room_page: RoomPage, choose: Callable[..., None]
) -> None:
    agent.ask()
    page = room_page(PERSON)
    before = int(calling(page).text_content())
    expect_calls(page, before)
    page.get_by_role("button", name="Mute", exact=True).click()
    link = page.get_by_role("link", name=f"{agent.room} muted 1")
    expect(link).to_be_visible()
    expect_calls(page, before - 1)
    agent.ask()
    expect(page.get_by_role("article")).to_have_count(2)
    expect(page.get_by_role("link", name=f"{agent.room} muted 2")).to_be_visible()
    expect_calls(page, before - 1)
    page.goto("/settings")
    expect(page.get_by_role("checkbox", name=agent.room)).to_be_checked()
    page.goto(f"/rooms/{agent.room}")
    page.get_by_role("button", name="Unmute").click()
    expect_calls(page, before + 1)
    expect(page.get_by_role("link", name="muted")).to_have_count(0)


def test_the_inbox_has_the_questions_of_muted_rooms(
    agent: Agent, open_browser: OpenBrowser, choose: Callable[..., None]
) -> None:
    question = agent.ask()
    choose(muted=agent.room, keyboard="on")
    page = open_browser(PERSON).new_page()
    page.goto(f"/?room={agent.room}")
    expect(page.locator(f"#row-{question['id']}")).to_be_visible()
    facts = page.locator(".ab-page-facts")
    expect(facts).to_contain_text(f"{int(calling(page).text_content()) + 1} waiting for you")


def test_a_tick_asks_the_browser_for_its_permission(open_browser: OpenBrowser, choose: object) -> None:
    page = open_browser(PERSON, permissions=["notifications"]).new_page()
    page.goto("/settings")
    page.get_by_label("Notifications in this browser").check()
    save(page)
    expect(page.get_by_label("Notifications in this browser")).to_be_checked()
    expect(page.locator("#ab-notify-said")).to_be_empty()
    assert page.evaluate("'notify' in document.getElementById('ab-layout').dataset")
    # A browser that was never asked says so, and leaves the choice as it is.
    page = open_browser(PERSON).new_page()
    page.goto("/settings")
    expect(page.get_by_text("This browser has not allowed notifications yet")).to_be_visible()
    expect(page.get_by_label("Notifications in this browser")).to_be_checked()


def test_a_browser_without_notifications_says_so(open_browser: OpenBrowser, choose: object) -> None:
    context = open_browser(PERSON)
    context.add_init_script("delete window.Notification")
    page = context.new_page()
    page.goto("/settings")
    page.get_by_label("Notifications in this browser").click()
    expect(page.get_by_text("This browser cannot show notifications here")).to_be_visible()
    expect(page.get_by_label("Notifications in this browser")).not_to_be_checked()


# ---- without JavaScript ----------------------------------------------------------------------------------


def test_settings_are_a_plain_form(agent: Agent, open_browser: OpenBrowser, choose: object) -> None:
    page = open_browser(PERSON, java_script_enabled=False).new_page()
    page.goto("/settings")
    page.get_by_label("Always confirm with Submit").check()
    page.get_by_label("Keyboard shortcuts").uncheck()
    page.get_by_role("checkbox", name=agent.room).check()
    save(page)
    expect(page.get_by_label("Always confirm with Submit")).to_be_checked()
    expect(page.get_by_label("Keyboard shortcuts")).not_to_be_checked()
    expect(page.get_by_role("checkbox", name=agent.room)).to_be_checked()
    page.goto(f"/rooms/{agent.room}")
    page.get_by_role("button", name="Unmute").click()
    expect(page.get_by_role("button", name="Mute", exact=True)).to_be_visible()


# ---- installed as an app ---------------------------------------------------------------------------------


@pytest.fixture
def own_profile(
    chromium: Browser, launch_options: dict[str, Any], bridge: Bridge, tmp_path: Path
) -> Iterator[BrowserContext]:
    """Eli's everyday browser: the others are like private windows, which install nothing."""
    site = f"http://127.0.0.1:{bridge.site.port}"
    context = chromium.browser_type.launch_persistent_context(
        tmp_path / "profile", base_url=site, **launch_options
    )
    cookies = bridge.person(PERSON, bridge.site).cookies
    context.add_cookies([{"name": name, "value": value, "url": site} for name, value in cookies.items()])
    yield context
    context.close()


def test_the_browser_can_install_it(own_profile: BrowserContext) -> None:
    page = own_profile.new_page()
    page.goto("/")
    browser = own_profile.new_cdp_session(page)
    found = browser.send("Page.getAppManifest")
    assert found["url"].endswith("/manifest.webmanifest")
    assert found["errors"] == []
    assert browser.send("Page.getInstallabilityErrors")["installabilityErrors"] == []


def test_a_browser_that_refuses_says_so(own_profile: BrowserContext, choose: object) -> None:
    page = own_profile.new_page()
    page.goto("/settings")
    # A browser without a screen cannot show its prompt and refuses by itself.
    page.get_by_label("Notifications in this browser").click()
    expect(page.get_by_text("This browser blocks notifications from this site")).to_be_visible()
    expect(page.get_by_label("Notifications in this browser")).not_to_be_checked()


# ---- feedback --------------------------------------------------------------------------------------------


def settings_of_new_browser(open_browser: OpenBrowser, **options: object) -> Page:
    page = open_browser(PERSON, viewport={"width": 390, "height": 600}, **options).new_page()
    page.goto("/settings")
    return page


@pytest.mark.parametrize("script", [True, False])
def test_saved_stands_beside_the_button_that_was_pressed(
    open_browser: OpenBrowser, choose: object, script: bool
) -> None:
    page = settings_of_new_browser(open_browser, java_script_enabled=script)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_in_viewport()
    expect(page.get_by_role("button", name="Save")).to_be_in_viewport()


@pytest.mark.parametrize("script", [True, False])
def test_half_of_the_quiet_hours_is_said_at_its_field(
    open_browser: OpenBrowser, choose: Callable[..., None], script: bool
) -> None:
    choose(notices="on", keyboard="on")
    page = settings_of_new_browser(open_browser, java_script_enabled=script)
    page.get_by_label("from", exact=True).fill("22:00")
    page.get_by_label("Always confirm with Submit").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Enter this time too")).to_be_in_viewport()
    expect(page.get_by_label("to", exact=True)).to_be_focused()
    expect(page.get_by_label("to", exact=True)).to_have_accessible_description(re.compile("Enter this time"))
    expect(page.get_by_label("from", exact=True)).to_have_value("22:00")
    expect(page.get_by_label("Always confirm with Submit")).to_be_checked()
    page.get_by_label("to", exact=True).fill("07:30")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_in_viewport()
    expect(page.get_by_label("to", exact=True)).to_have_value("07:30")


def test_an_error_at_a_field_has_no_problems_of_access(
    open_browser: OpenBrowser, choose: Callable[..., None]
) -> None:
    choose(notices="on", keyboard="on")
    page = settings_of_new_browser(open_browser)
    page.get_by_label("to", exact=True).fill("07:30")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("from", exact=True)).to_be_focused()
    expect_no_problems(page)


def test_the_time_zone_of_the_browser_is_preselected_until_one_is_chosen(
    open_browser: OpenBrowser, choose: Callable[..., None]
) -> None:
    choose(notices="on", keyboard="on")
    page = settings_of_new_browser(open_browser, timezone_id="Asia/Tokyo")
    zone = page.get_by_label("Time zone")
    expect(zone).to_have_value("Asia/Tokyo")
    zone.select_option("Europe/Berlin")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(zone).to_have_value("Europe/Berlin")
    choose(notices="on", keyboard="on")
    plain = settings_of_new_browser(open_browser, timezone_id="Asia/Tokyo", java_script_enabled=False)
    expect(plain.get_by_label("Time zone")).to_have_value("")


# ---- undo ------------------------------------------------------------------------------------------------


def test_own_answers_can_be_undone_by_who_wants_it(
    agent: Agent, room_page: RoomPage, open_browser: OpenBrowser, choose: object
) -> None:
    page = open_browser(PERSON).new_page()
    page.goto("/settings")
    page.get_by_label("Undo", exact=True).select_option("30 seconds")
    save(page)
    expect(page.get_by_label("Undo", exact=True)).to_have_value("30")

    page, other = room_page(PERSON), room_page("ana")
    question = agent.ask()
    click_option(page, "SQLite")
    expect(page.get_by_text(re.compile(r"Goes to the agent in \d+ s"))).to_be_visible()
    expect(other.get_by_role("article")).to_contain_text("Answered by Eli Novak")
    expect(other.get_by_role("button", name="Undo")).to_have_count(0)
    assert agent.read(question["id"])["status"] == "open"
    page.keyboard.press("z")
    for one in (page, other):
        expect(one.get_by_role("radio", name="SQLite")).to_be_visible()
    click_option(other, "PostgreSQL")
    expect(page.get_by_role("article")).to_contain_text("Answered by Ana Costa")
    assert agent.read(question["id"])["answer"]["by"]["username"] == "ana"


def test_own_answers_can_be_undone_without_javascript(
    agent: Agent, open_browser: OpenBrowser, choose: Callable[..., None]
) -> None:
    choose(keyboard="on", undo_seconds="30")
    agent.ask()
    page = open_browser(PERSON, java_script_enabled=False).new_page()
    page.goto(f"/rooms/{agent.room}")
    page.get_by_role("radio", name="SQLite").check()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("Sent to the agent at")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("radio", name="SQLite")).to_be_visible()
