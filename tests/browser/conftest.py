"""Real Chromium on a real site: no mocks, no sleeps, roles and visible text."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.harness.agents import Agent
from tests.harness.bridges import PASSWORD, Bridge
from tests.harness.chromium import violations_in
from tests.harness.pages import mark_open_streams, wait_for_stream

expect.set_options(timeout=10_000)


@pytest.fixture
def open_browser(
    chromium: Browser, bridge: Bridge, request: pytest.FixtureRequest
) -> Iterator[Callable[..., BrowserContext]]:
    """A new browser context of a signed-in person; a script error or a violated policy fails the test."""
    contexts: list[BrowserContext] = []
    errors: list[str] = []

    def start(username: str = "ana", **options: object) -> BrowserContext:
        site = bridge.site
        context = chromium.new_context(base_url=f"http://127.0.0.1:{site.port}", **options)  # type: ignore[arg-type]
        contexts.append(context)
        mark_open_streams(context)
        context.on("weberror", lambda error: errors.append(str(error.error)))
        context.on("console", lambda message: errors.extend(violations_in(message.text)))
        if username:
            cookies = bridge.person(username, site).cookies
            context.add_cookies(
                [
                    {"name": name, "value": value, "url": f"http://127.0.0.1:{site.port}"}
                    for name, value in cookies.items()
                ]
            )
        return context

    yield start
    for context in contexts:
        context.close()
    assert errors == []


@pytest.fixture
def room_page(open_browser: Callable[..., BrowserContext], agent: Agent) -> Callable[..., Page]:
    """The agent's room in a new browser context, with its stream open."""

    def start(username: str = "ana", **options: object) -> Page:
        page = open_browser(username, **options).new_page()
        page.goto(f"/rooms/{agent.room}")
        wait_for_stream(page)
        return page

    return start


@pytest.fixture
def password() -> str:
    return PASSWORD
