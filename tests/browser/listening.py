"""Pages whose stream is open: from then on they miss nothing, not even what is told only once."""

from playwright.sync_api import BrowserContext, Page, expect

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


def mark_when_listening(where: BrowserContext | Page) -> None:
    """Let pages that are opened there say whether their stream is open: no request of a worker is seen."""
    where.add_init_script(MARK)


def until_listening(page: Page) -> None:
    expect(page.locator("html")).to_have_attribute("data-stream", "open")
