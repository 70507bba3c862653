"""Open pages in a browser: their stream, their cards, their banner and their window."""

import time

from playwright.sync_api import BrowserContext, Locator, Page, expect

TWO_PROMPTS = [
    {
        "question": "Which checks should block the release?",
        "header": "Checks",
        "multiSelect": True,
        "options": ["Unit tests", "Browser tests"],
    },
    {"question": "When do we release?", "header": "Time", "options": ["Now", "Tonight"]},
]

# A page says whether its stream is open: Playwright does not see the requests of a worker.
MARK = """
window.SharedWorker = class extends SharedWorker {
    constructor(...how) {
        super(...how);
        this.port.addEventListener("message", ({ data }) => {
            if (data.state) document.documentElement.dataset.stream = data.state;
        });
    }
};
"""

# Longer than the 400 ms in which a card that appeared or moved ignores clicks.
CARDS_ARE_STILL = """() => new Promise((done) => {
    let [places, since] = ["", 0];
    const look = () => {
        const top = (card) => `${card.id} ${card.getBoundingClientRect().top + scrollY}`;
        const found = [...document.querySelectorAll(".ab-card")].map(top).join();
        if (found !== places) [places, since] = [found, performance.now()];
        if (performance.now() - since > 450) done();
        else setTimeout(look, 10);
    };
    look();
})"""

# Keeps the texts of the banner, for a look after it is gone.
RECORD_BANNER = """() => {
    window.told = [];
    const banner = document.getElementById("ab-connection");
    const listen = () => banner.checkVisibility() && window.told.push(banner.textContent.trim());
    new MutationObserver(listen).observe(banner, {childList: true, attributes: true});
}"""

SHOWN_NOTIFICATIONS = """() => navigator.serviceWorker.ready.then((worker) => worker.getNotifications())
    .then((all) => all.map(({ title, body, tag, data }) => ({ title, body, tag, data })))"""


def mark_open_streams(where: BrowserContext | Page) -> None:
    """Let pages that are opened there say whether their stream is open."""
    where.add_init_script(MARK)


def wait_for_stream(page: Page) -> None:
    """Until the stream is open: from then on the page misses no event."""
    expect(page.locator("html")).to_have_attribute("data-stream", "open")


def wait_for_still_cards(page: Page) -> None:
    """Until no card has appeared or moved for a moment: a change above a card can move it later."""
    page.evaluate(CARDS_ARE_STILL)


def click_option(page: Page, label: str) -> float:
    """Click as soon as the card accepts clicks; the time of the click."""
    page.get_by_role("radio", name=label).wait_for()
    wait_for_still_cards(page)
    page.locator(".ab-option").get_by_text(label, exact=True).click()
    return time.monotonic()


def next_step(card: Page | Locator) -> None:
    """On to the next prompt of a card with several, or to the review of all answers."""
    card.locator(".ab-steps-next").filter(visible=True).click()


def expect_caught_up(page: Page) -> None:
    """The banner said so, if only for the seconds in which the test looked at something else."""
    page.wait_for_function("() => window.told.some((text) => text.startsWith('Up to date again.'))")


def resize(page: Page, width: int, height: int) -> None:
    """Resize the window; Playwright returns earlier, when the page does not know its new size yet."""
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_function(
        "([width, height]) => innerWidth === width && innerHeight === height", arg=[width, height]
    )
