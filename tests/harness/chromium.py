"""Pytest plugin: the Chromium of this machine.

Tests of pages run in its headless shell where that is installed: the same engine without the user interface
of a browser, for half the CPU time. The mark `whole_browser` is for what the shell lacks: notifications.
"""

import os
import shlex
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Each window of Chromium loads pages of its own for the suggestions of its address bar, which costs CPU time.
# Of several `--disable-features` it heeds only the last, so these two are added to Playwright's.
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


WHOLE_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
HEADLESS_SHELLS = ("chromium-headless-shell", "chrome-headless-shell")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "whole_browser: needs what the headless shell of Chromium lacks")


def first_installed(programs: tuple[str, ...]) -> str | None:
    return next(filter(None, map(shutil.which, programs)), None)


@pytest.fixture(scope="session")
def launch_options(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The installed Chromium: Playwright has its own, but not every machine can download it."""
    program = first_installed(WHOLE_BROWSERS)
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


# Not for the whole session: while it runs, this thread has an event loop, which other tests cannot have.
@pytest.fixture(scope="module")
def chromium(request: pytest.FixtureRequest, launch_options: dict[str, Any]) -> "Iterator[Browser]":
    # Not at the top: most test runs of one folder need no browser.
    from playwright.sync_api import sync_playwright

    shell = first_installed(HEADLESS_SHELLS)
    if shell and not request.node.get_closest_marker("whole_browser"):
        launch_options = {**launch_options, "executable_path": shell}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**launch_options)
        yield browser
        browser.close()


def violations_in(text: str) -> list[str]:
    """The console messages about a violated Content Security Policy."""
    return [text] if "Content Security Policy" in text else []
