"""The window of a page, in a size that the page has heard of."""

from playwright.sync_api import Page


def resize(page: Page, width: int, height: int) -> None:
    """Playwright returns when the size is on its way; what is measured from here on is laid out for it."""
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_function(
        "([width, height]) => innerWidth === width && innerHeight === height", arg=[width, height]
    )
