"""Real Chromium on a real site: no mocks, no sleeps, roles and visible text."""

import os
import shlex
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.actors import Agent
from tests.browser.listening import mark_when_listening, until_listening
from tests.world import PASSWORD, World, world

expect.set_options(timeout=10_000)

# Every window of Chromium loads pages of its own for what its address bar suggests, which costs CPU time.
# Of several lists of features to leave out it heeds only the last, so these two join Playwright's.
LAUNCHER = """#!/bin/sh
for argument; do
    shift
    case "$argument" in
        --disable-features=*) argument="$argument,WebUIOmniboxPopup,WebUIOmniboxAimPopup" ;;
    esac
    set -- "$@" "$argument"
done
exec {program} "$@"
"""


@pytest.fixture(scope="session")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world("embedded", tmp_path_factory.mktemp("browser") / "data") as running:
        yield running


@pytest.fixture(scope="session")
def how_to_launch(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The Chromium of this machine: Playwright has its own, but not everybody can download it."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        if os.environ.get("CI") == "true":
            pytest.fail("Chromium is missing: scripts/test-services should have installed it")
        pytest.skip("needs Chromium: install the package chromium")
    launcher = tmp_path_factory.mktemp("chromium") / "launcher"
    launcher.write_text(LAUNCHER.format(program=shlex.quote(program)))
    launcher.chmod(0o700)
    return {
        "executable_path": launcher,
        "args": ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"],
    }


# Not for the whole session: as long as it runs, this thread has an event loop and tests of others cannot.
@pytest.fixture(scope="module")
def chromium(how_to_launch: dict[str, Any]) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**how_to_launch)
        yield browser
        browser.close()


def violations_in(text: str) -> list[str]:
    """What the browser says when a page wants more than its policy allows."""
    return [text] if "Content Security Policy" in text else []


@pytest.fixture
def open_browser(
    chromium: Browser, bridge: World, request: pytest.FixtureRequest
) -> Iterator[Callable[..., BrowserContext]]:
    """A browser of its own for somebody who is signed in; an error or a violated policy fails the test."""
    contexts: list[BrowserContext] = []
    errors: list[str] = []

    def start(username: str = "ana", **options: object) -> BrowserContext:
        site = bridge.site
        context = chromium.new_context(base_url=f"http://127.0.0.1:{site.port}", **options)  # type: ignore[arg-type]
        contexts.append(context)
        mark_when_listening(context)
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
def agent(bridge: World) -> Agent:
    return bridge.agent()


@pytest.fixture
def room_page(open_browser: Callable[..., BrowserContext], agent: Agent) -> Callable[..., Page]:
    """The agent's room, open in a browser of its own and listening to its stream."""

    def start(username: str = "ana", **options: object) -> Page:
        page = open_browser(username, **options).new_page()
        page.goto(f"/rooms/{agent.room}")
        until_listening(page)
        return page

    return start


@pytest.fixture
def password() -> str:
    return PASSWORD
