"""Accessibility (WCAG 2.2 AA) of each page and card state, in both colour schemes, on phone and desktop."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.gallery import LONG_WORD, Gallery
from tests.harness.accessibility import expect_no_problems
from tests.harness.bridges import Bridge
from tests.harness.pages import wait_for_stream

OpenBrowser = Callable[..., BrowserContext]

# Where the Tab key has led: whether one sees it, and not under what floats over the page.
FOCUS = """() => {
    const element = document.activeElement;
    const isRepeated = element === document.body || "walked" in element.dataset;
    element.dataset.walked = "yes";
    const shown = [element, element.closest("label"), element.closest(".ab-option")].filter(Boolean);
    const hasRing = shown.some((one) => getComputedStyle(one).outlineStyle !== "none");
    const {left, top, width, height} = shown.at(-1).getBoundingClientRect();
    const above = document.elementFromPoint(left + width / 2, Math.min(top + height / 2, innerHeight - 1));
    const floating = ".ab-composer, .ab-tabs, .ab-card-actions, .ab-pager";
    const isCovered = Boolean(above?.closest(floating)) && !element.closest(floating);
    return {what: element.outerHTML.slice(0, 120), isSeen: hasRing && above && !isCovered, isRepeated};
}"""


# Its own: the inbox has only the questions of this file.
pytestmark = pytest.mark.bridge(rooms=("ops", "docs"))


@pytest.fixture(scope="module")
def gallery(bridge: Bridge) -> Gallery:
    return Gallery(bridge.agent(), bridge)


@pytest.mark.bridge(rooms=("ops",), scope="function")
class TestQuiet:
    """A bridge on which nothing has happened yet."""

    def test_the_inbox_and_a_room_without_questions(self, open_browser: OpenBrowser) -> None:
        page = open_browser().new_page()
        page.goto("/")
        expect(page.get_by_role("heading", name="All caught up")).to_be_visible()
        expect_no_problems(page)
        page.goto("/rooms/ops")
        expect(page.get_by_role("heading", name="No questions yet")).to_be_visible()
        expect_no_problems(page)

    def test_a_lost_connection(self, open_browser: OpenBrowser, bridge: Bridge) -> None:
        page = open_browser().new_page()
        page.goto("/rooms/ops")
        wait_for_stream(page)
        bridge.site.stop()
        expect(page.get_by_text("Connection lost")).to_be_visible()
        expect_no_problems(page)


def test_the_login(open_browser: OpenBrowser) -> None:
    page = open_browser("").new_page()
    page.goto("/")
    expect_no_problems(page)
    page.get_by_label("User name").fill("ana")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect_no_problems(page)


def test_a_room_with_cards_in_every_state(open_browser: OpenBrowser, gallery: Gallery) -> None:
    page = open_browser().new_page()
    with gallery.on(page):
        for state in (
            *("Waiting", "Agent left", "expires", "Other needs a text", "Sending…"),
            *("Answered by you", "Answered by Ben Okafor", "Answered in the terminal", "came too late"),
            *("Skipped by you", "Skipped by Ben Okafor", "Asked back by you", "Withdrawn by the agent"),
            *("Expired without an answer", "Expired, default used"),
            *("Delivered to the agent", "Not delivered yet", "relayed by an agent", "3 log lines"),
        ):
            expect(page.get_by_text(state).filter(visible=True).first).to_be_visible()
        expect_no_problems(page)


@pytest.mark.parametrize("address", ["/", "/rooms/ops?before=5", "/settings", "/nothing-here"])
def test_the_other_pages(open_browser: OpenBrowser, gallery: Gallery, address: str) -> None:
    page = open_browser().new_page()
    page.goto(address)
    expect_no_problems(page)


def test_the_page_of_a_question(open_browser: OpenBrowser, gallery: Gallery) -> None:
    page = open_browser().new_page()
    for question in (gallery.previews, gallery.answered):
        page.goto(question["url"])
        expect_no_problems(page)


def test_the_list_of_keys(open_browser: OpenBrowser, gallery: Gallery) -> None:
    page = open_browser().new_page()
    page.goto("/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    expect_no_problems(page)


def page_of_admin(open_browser: OpenBrowser, bridge: Bridge, address: str) -> Page:
    page = open_browser("").new_page()
    page.goto(address)
    page.get_by_label("User name").fill("admin")
    page.get_by_label("Password").fill(re.search(r"Password +(\S+)", bridge.greeting).group(1))  # type: ignore[union-attr]
    page.get_by_role("button", name="Sign in").click()
    # The login names the address as well, as its query, and has a name to fill in.
    page.wait_for_url(re.compile(rf"[^?]*{re.escape(address)}$"))
    return page


def test_webhooks(open_browser: OpenBrowser, bridge: Bridge) -> None:
    page = page_of_admin(open_browser, bridge, "/rooms/docs/webhooks")
    page.get_by_label("Name").fill("The channel of everybody who has something to do with documentation")
    page.get_by_label("Address").fill(f"http://127.0.0.1:9/{LONG_WORD.encode('punycode').decode()}")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_text("Copy it now")).to_be_visible()
    expect_no_problems(page)
    page.get_by_role("button", name="Send a test").click()
    expect(page.get_by_text("127.0.0.1 is not a public address")).to_be_visible()
    page.get_by_text("Remove", exact=True).click()
    expect_no_problems(page)
    page.get_by_role("button", name="Switch off").click()
    expect(page.get_by_text("Off", exact=True)).to_be_visible()
    expect_no_problems(page)


def test_connecting_an_agent(open_browser: OpenBrowser, bridge: Bridge) -> None:
    page = page_of_admin(open_browser, bridge, "/rooms/ops/connect")
    expect(page.get_by_role("heading", name="Connect an agent")).to_be_visible()
    expect_no_problems(page)
    page.get_by_label("Name of the agent").fill("refactor-bot on a laptop with a rather long name")
    page.get_by_role("button", name="Create a key").click()
    expect(page.get_by_text("Copy it now")).to_be_visible()
    for tab in page.get_by_role("tab").all():
        tab.click()
        expect_no_problems(page)
    page.get_by_role("button", name="Send a test question").click()
    expect(page.get_by_role("article")).to_contain_text("Do you see this card?")
    expect(page.get_by_role("listitem").filter(has_text="First question")).to_contain_text("Done:")
    expect_no_problems(page)


@pytest.mark.parametrize("width", [320, 1280])
def test_the_focus_is_seen_wherever_it_goes(open_browser: OpenBrowser, gallery: Gallery, width: int) -> None:
    page = open_browser(viewport={"width": width, "height": 700}).new_page()
    with gallery.on(page):
        page.locator(".ab-skip-link").focus()
        walked = []
        while not (step := page.evaluate(FOCUS))["isRepeated"]:
            walked.append(step)
            page.keyboard.press("Tab")
        place = "rail-link" if width == 1280 else 'class="ab-tab"'
        for kind in (place, "radio", "checkbox", "<textarea", "<summary", "<pre", "<button", "reason"):
            assert any(kind in step["what"] for step in walked), f"Tab does not lead to {kind}"
        assert [step["what"] for step in walked if not step["isSeen"]] == []


def test_nothing_moves_for_who_wants_it_so(open_browser: OpenBrowser, gallery: Gallery) -> None:
    # "NAME is answering…" vanishes after a while, which is no motion.
    moving = "document.getAnimations().map((one) => one.animationName).filter((name) => name !== 'ab-lapse')"
    page = open_browser().new_page()
    with gallery.on(page):
        assert page.evaluate(moving) != []
        page.emulate_media(reduced_motion="reduce")
        assert page.evaluate(moving) == []


def test_choice_and_focus_are_seen_in_the_colours_of_the_system(
    open_browser: OpenBrowser, gallery: Gallery
) -> None:
    page = open_browser(forced_colors="active").new_page()
    page.goto(gallery.waiting["url"])
    page.get_by_role("radio", name="PostgreSQL").focus()
    page.keyboard.press("ArrowDown")
    plain, focused = ring(page, "PostgreSQL"), ring(page, "Redis")
    page.keyboard.press("Tab")
    chosen = ring(page, "Redis")
    assert "none" in plain
    assert "none" not in chosen + focused
    assert chosen != focused


def ring(page: Page, name: str) -> str:
    """How the option is outlined."""
    option = page.locator(".ab-option", has_text=name)
    return str(option.evaluate("(option) => getComputedStyle(option).outline"))
