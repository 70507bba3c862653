"""WCAG 2.2 AA in every state, both colour schemes, on phone and desk: what axe finds, and what it cannot."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.gallery import LONG_WORD, Gallery
from tests.browser.listening import until_listening
from tests.browser.windows import resize
from tests.world import World, world

OpenBrowser = Callable[..., BrowserContext]

LOOKS = [(scheme, width) for scheme in ("light", "dark") for width in (320, 1280)]
RULES = {
    "resultTypes": ["violations"],
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}

# What a finger has to hit. A link in a sentence may be as small as its words: WCAG 2.5.8 says so too.
SMALL_TARGETS = """() => {
    const inSentence = (element) => element.matches("a") && getComputedStyle(element).display === "inline"
        && element.parentElement.textContent.trim() !== element.textContent.trim();
    // There for the keyboard only.
    const isClipped = (element) => getComputedStyle(element).clipPath !== "none";
    const targets = "a[href], button, summary, select, textarea, input:not([type=hidden])";
    return [...document.querySelectorAll(targets)]
        .filter((element) => element.checkVisibility({visibilityProperty: true}))
        .filter((element) => !inSentence(element) && !isClipped(element))
        .map((element) => {
            const isTick = element.matches("[type=radio], [type=checkbox]");
            const target = (isTick && (element.closest(".option") || element.closest("label"))) || element;
            const {width, height} = target.getBoundingClientRect();
            const least = target.matches(".option") ? 44 : 24;
            return width >= least && height >= least ? "" :
                `${Math.round(width)}x${Math.round(height)} px: ${target.outerHTML.slice(0, 120)}`;
        })
        .filter(Boolean);
}"""

# Where the Tab key has led: whether one sees it, and not under what floats over the page.
FOCUS = """() => {
    const element = document.activeElement;
    const isRepeated = element === document.body || "walked" in element.dataset;
    element.dataset.walked = "yes";
    const shown = [element, element.closest("label"), element.closest(".option")].filter(Boolean);
    const hasRing = shown.some((one) => getComputedStyle(one).outlineStyle !== "none");
    const {left, top, width, height} = shown.at(-1).getBoundingClientRect();
    const above = document.elementFromPoint(left + width / 2, Math.min(top + height / 2, innerHeight - 1));
    const isCovered = Boolean(above?.closest(".composer")) && !element.closest(".composer");
    return {what: element.outerHTML.slice(0, 120), isSeen: hasRing && above && !isCovered, isRepeated};
}"""


def problems(page: Page) -> list[str]:
    """What is wrong with the page as it stands, one readable line each."""
    found = [
        f"{rule['id']}: {', '.join(map(str, node['target']))}\n{node['failureSummary']}"
        for rule in Axe().run(page, options=RULES).response["violations"]
        for node in rule["nodes"]
    ]
    found += [f"too small a target, {target}" for target in page.evaluate(SMALL_TARGETS)]
    needed = page.evaluate("document.scrollingElement.scrollWidth")
    if needed > page.viewport_size["width"]:
        found.append(f"scrolls sideways: {needed} px")
    return found


def expect_no_problems(page: Page) -> None:
    found = []
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        resize(page, width, 900)
        # As high as it needs to be: else what floats at its lower edge lies on whatever happens to be there.
        resize(page, width, page.evaluate("document.body.scrollHeight"))
        found += [f"{scheme}, {width} px: {problem}" for problem in problems(page)]
    assert not found, "\n\n".join(found)


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One of our own: what is in its inbox is what this file puts there."""
    with world("embedded", tmp_path_factory.mktemp("access") / "data", ["ops", "docs"]) as running:
        yield running


@pytest.fixture(scope="module")
def gallery(bridge: World) -> Gallery:
    return Gallery(bridge.agent(), bridge)


class TestQuiet:
    """A bridge on which nothing has happened yet."""

    @pytest.fixture
    def bridge(self, tmp_path: Any) -> Iterator[World]:
        with world("embedded", tmp_path / "data", ["ops"]) as running:
            yield running

    def test_the_inbox_and_a_room_without_questions(self, open_browser: OpenBrowser) -> None:
        page = open_browser().new_page()
        page.goto("/")
        expect(page.get_by_role("heading", name="All caught up")).to_be_visible()
        expect_no_problems(page)
        page.goto("/rooms/ops")
        expect(page.get_by_role("heading", name="No questions yet")).to_be_visible()
        expect_no_problems(page)

    def test_a_lost_connection(self, open_browser: OpenBrowser, bridge: World) -> None:
        page = open_browser().new_page()
        page.goto("/rooms/ops")
        until_listening(page)
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
            *("Agent waiting", "Agent no longer active", "Expires", "needs an option", "Sending…"),
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


def page_of_admin(open_browser: OpenBrowser, bridge: World, address: str) -> Page:
    page = open_browser("").new_page()
    page.goto(address)
    page.get_by_label("User name").fill("admin")
    page.get_by_label("Password").fill(re.search(r"Password +(\S+)", bridge.greeting).group(1))  # type: ignore[union-attr]
    page.get_by_role("button", name="Sign in").click()
    # The login names the address as well, as its query, and has a name to fill in.
    page.wait_for_url(re.compile(rf"[^?]*{re.escape(address)}$"))
    return page


def test_webhooks(open_browser: OpenBrowser, bridge: World) -> None:
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


def test_connecting_an_agent(open_browser: OpenBrowser, bridge: World) -> None:
    page = page_of_admin(open_browser, bridge, "/rooms/ops/connect")
    expect(page.get_by_role("heading", name="Connect an agent")).to_be_visible()
    expect_no_problems(page)
    page.get_by_label("Name of the agent").fill("refactor-bot on a laptop with a rather long name")
    page.get_by_role("button", name="Create a key").click()
    expect(page.get_by_text("Copy it now")).to_be_visible()
    for client in page.locator(".segments").get_by_role("radio").all():
        client.check()
        expect_no_problems(page)


@pytest.mark.parametrize("width", [320, 1280])
def test_the_focus_is_seen_wherever_it_goes(open_browser: OpenBrowser, gallery: Gallery, width: int) -> None:
    page = open_browser(viewport={"width": width, "height": 700}).new_page()
    with gallery.on(page):
        page.locator(".skip-link").focus()
        walked = []
        while not (step := page.evaluate(FOCUS))["isRepeated"]:
            walked.append(step)
            page.keyboard.press("Tab")
        for kind in ("rail-link", "radio", "checkbox", "<textarea", "<summary", "<pre", "<button", "reason"):
            assert any(kind in step["what"] for step in walked), f"Tab does not lead to {kind}"
        assert [step["what"] for step in walked if not step["isSeen"]] == []


def test_nothing_moves_for_who_wants_it_so(open_browser: OpenBrowser, gallery: Gallery) -> None:
    # "NAME is answering…" vanishes after a while, which is no motion.
    moving = "document.getAnimations().map((one) => one.animationName).filter((name) => name !== 'lapse')"
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
    option = page.locator(".option", has_text=name)
    return str(option.evaluate("(option) => getComputedStyle(option).outline"))
