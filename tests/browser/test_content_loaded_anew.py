"""A page that loads its content anew, because it was too far behind or its person has other rights."""

from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

from tests.harness.agents import Agent
from tests.harness.pages import wait_for_still_cards, wait_for_stream

OpenBrowser = Callable[..., BrowserContext]

# The stream of the page can be made to say that it cannot send the changes.
KEEP_PORT = """
window.SharedWorker = class extends SharedWorker {
    constructor(...how) {
        super(...how);
        window.streamPort = this.port;
    }
};
"""
RESET = """() => {
    const shown = document.getElementById("ab-layout");
    window.streamPort.dispatchEvent(new MessageEvent("message", {data: {event: "reset", data: ""}}));
    return new Promise((done) => {
        const look = () => {
            const now = document.getElementById("ab-layout");
            if (now && now !== shown) done();
            else requestAnimationFrame(look);
        };
        look();
    });
}"""


def open_page(open_browser: OpenBrowser, address: str, **options: object) -> Page:
    context = open_browser(**options)
    context.add_init_script(KEEP_PORT)
    page = context.new_page()
    page.goto(address)
    wait_for_stream(page)
    return page


def test_a_card_on_a_phone_keeps_its_button(agent: Agent, open_browser: OpenBrowser) -> None:
    question = agent.ask()
    address = f"/?room={agent.room}&question={question['id']}"
    size = {"width": 390, "height": 844}
    page = open_page(open_browser, address, viewport=size, has_touch=True, is_mobile=True)
    page.evaluate(RESET)
    wait_for_still_cards(page)
    # A tap only selects, so the button is there from the start.
    expect(page.get_by_text("Click to answer")).to_be_hidden()
    page.locator(".ab-option").get_by_text("SQLite", exact=True).tap()
    page.locator("#ab-focus .ab-submit").tap()
    expect(page.locator("#ab-last")).to_contain_text("Answered by you")


def test_the_inbox_keeps_the_card_that_was_opened(agent: Agent, open_browser: OpenBrowser) -> None:
    agent.ask()
    second = agent.ask()
    page = open_page(open_browser, f"/?room={agent.room}", viewport={"width": 1280, "height": 900})
    page.locator("#ab-keys-line").get_by_role("button", name="Hide").click()
    page.locator(f"#row-{second['id']} a").click()
    card = page.locator(f"#ab-focus #card-{second['id']}")
    card.get_by_role("radio", name="Other").check()
    card.get_by_role("textbox", name="Your own answer").fill("Neither of the two")
    page.evaluate(RESET)
    expect(card.get_by_role("textbox", name="Your own answer")).to_have_value("Neither of the two")
    expect(page.locator("#ab-keys-line")).to_be_hidden()


def test_the_rows_of_a_room_still_open(agent: Agent, open_browser: OpenBrowser) -> None:
    for _ in range(5):
        agent.ask()
    page = open_page(open_browser, f"/rooms/{agent.room}")
    page.evaluate(RESET)
    rows = page.locator(".ab-fold-row")
    expect(rows).to_have_count(4)
    rows.first.click()
    expect(rows).to_have_count(3)
    agent.ask()
    expect(rows).to_have_count(4)
