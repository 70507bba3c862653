"""A portal whose script replaces every <select> by a widget: ours stay as they are."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.harness.pages import mark_open_streams, wait_for_stream
from tests.harness.shared_folder import made_once
from tests.portal.portals import RUNSERVER, Host, running_host

WIDGETS = {"tom-select": ".ts-wrapper", "select2": ".select2-container"}
# The members page has two selects side by side.
PAGES = ("/ask/", "/ask/settings", "/ask/insights", "/ask/rooms/lobby/manage/members")
# The pages of managers have selects, too.
MAKE_EVERYONE_ADMIN = (
    "from django.contrib.auth import get_user_model; get_user_model().objects.update(is_superuser=True)"
)
# Where each select is, and whether it takes part in a form and is reached by Tab.
SELECTS = """() => [...document.querySelectorAll(".ask-bridge select")].map((select) => {
  const { x, width, height } = select.getBoundingClientRect();
  const labels = [...select.labels].map((label) => label.textContent.trim());
  const { color, backgroundColor, opacity } = getComputedStyle(select);
  const attributes = [select.name, select.value, select.disabled, select.tabIndex, select.ariaHidden];
  const options = [...select.options].map(({ value }) => value);
  return [x, width, height, color, backgroundColor, opacity, labels, ...attributes, options];
})"""


def install_widgets(folder: Path) -> None:
    """Fetch the libraries from the npm registry."""
    if shutil.which("npm") is None:
        missing = "needs npm, to fetch widgets of portals: install the package npm"
        pytest.fail(missing) if os.environ.get("CI") == "true" else pytest.skip(missing)
    packages = ["tom-select@2.6.2", "select2@4.1.0", "jquery@3.8.0"]
    command = ["npm", "install", "--prefix", str(folder), "--no-save", "--ignore-scripts", *packages]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    data = tmp_path_factory.mktemp("own_selects")
    with made_once("portal-selects", install_widgets) as folder:
        (data / "npm").symlink_to(folder / "node_modules")
    with running_host("own_selects", data, RUNSERVER) as running:
        running.run("django", "shell", "-c", MAKE_EVERYONE_ADMIN)
        yield running


@pytest.fixture
def visit(host: Host, chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Open a page in a browser that is signed in, with this library of the portal."""
    origin = f"http://127.0.0.1:{host.portal.port}"
    context = chromium.new_context(base_url=origin, timezone_id="Europe/Lisbon")
    mark_open_streams(context)
    cookies = host.person("ana").cookies

    def open_page(path: str, widgets: str = "none") -> Page:
        chosen = {**cookies, "widgets": widgets}
        context.add_cookies([{"name": name, "value": chosen[name], "url": origin} for name in chosen])
        page = context.new_page()
        page.goto(path)
        wait_for_stream(page)
        return page

    yield open_page
    context.close()


# The members page has two selects side by side.
@pytest.mark.parametrize(
    "path", ["/ask/", "/ask/settings", "/ask/insights", "/ask/rooms/lobby/manage/members"]
)
@pytest.mark.parametrize("widgets", WIDGETS)
def test_our_selects_look_and_work_as_without_the_script(
    visit: Callable[..., Page], widgets: str, path: str
) -> None:
    expected = visit(path).evaluate(SELECTS)
    page = visit(path, widgets)
    assert int(page.locator("html").get_attribute("data-replaced") or 0) > len(expected) > 0
    assert page.evaluate(SELECTS) == expected
    expect(page.locator(f".ask-bridge {WIDGETS[widgets]}")).to_have_count(0)
    expect(page.locator(f"#portals-own ~ {WIDGETS[widgets]}")).to_be_visible()


@pytest.mark.parametrize("widgets", WIDGETS)
def test_a_script_that_replaces_them_later_changes_nothing(visit: Callable[..., Page], widgets: str) -> None:
    expected = visit("/ask/settings").evaluate(SELECTS)
    page = visit("/ask/settings", widgets)
    page.evaluate("replace()")
    assert page.evaluate(SELECTS) == expected


def test_a_choice_is_sent(visit: Callable[..., Page]) -> None:
    page = visit("/ask/insights", "tom-select")
    page.get_by_label("Room", exact=True).select_option("lobby")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page).to_have_url(re.compile("/rooms/lobby/insights"))
