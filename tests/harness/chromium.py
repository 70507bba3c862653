"""Pytest plugin: the Chromium of this machine."""

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


@pytest.fixture(scope="session")
def launch_options(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The installed Chromium: Playwright has its own, but not every machine can download it."""
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


# Not for the whole session: while it runs, this thread has an event loop, which other tests cannot have.
@pytest.fixture(scope="module")
def chromium(launch_options: dict[str, Any]) -> "Iterator[Browser]":
    # Not at the top: most test runs of one folder need no browser.
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**launch_options)
        yield browser
        browser.close()


def violations_in(text: str) -> list[str]:
    """The console messages about a violated Content Security Policy."""
    return [text] if "Content Security Policy" in text else []
