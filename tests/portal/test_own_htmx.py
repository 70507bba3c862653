"""A portal with htmx in any version: neither library touches what belongs to the other."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.harness.pages import click_option, mark_open_streams, wait_for_stream
from tests.harness.shared_folder import made_once
from tests.portal.portals import RUNSERVER, Host, running_host

VERSIONS = {"htmx1": "1.9.12", "htmx2": "2.0.11", "htmx4": "4.0.1"}
# What a portal's scripts may listen to, by the names of htmx 1 and 2 and by those of htmx 4.
RECORD_EVENTS = """
window.heard = [];
addEventListener("DOMContentLoaded", () => [
    "htmx:configRequest", "htmx:beforeRequest", "htmx:afterRequest", "htmx:beforeSwap", "htmx:afterSwap",
    "htmx:load", "htmx:sseMessage", "htmx:before:request", "htmx:after:swap",
].forEach((name) => document.body.addEventListener(name, ({ type, target }) => {
    if (target.closest(".ask-bridge")) window.heard.push(type);
})));
"""


def install_versions(folder: Path) -> None:
    """Fetch htmx from the npm registry."""
    if shutil.which("npm") is None:
        missing = "needs npm, to fetch the htmx of portals: install the package npm"
        pytest.fail(missing) if os.environ.get("CI") == "true" else pytest.skip(missing)
    packages = [f"{name}@npm:htmx.org@{version}" for name, version in VERSIONS.items()]
    command = ["npm", "install", "--prefix", str(folder), "--no-save", "--ignore-scripts", *packages]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    data = tmp_path_factory.mktemp("own_htmx")
    with made_once("portal-htmx", install_versions) as folder:
        (data / "npm").symlink_to(folder / "node_modules")
    with running_host("own_htmx", data, RUNSERVER) as running:
        yield running


@pytest.fixture
def visit(host: Host, chromium: Browser) -> Iterator[Callable[[str, str], Page]]:
    """Open a page in a browser that is signed in, with the portal's htmx of this version at this place."""
    origin = f"http://127.0.0.1:{host.portal.port}"
    context = chromium.new_context(base_url=origin)
    mark_open_streams(context)
    context.add_init_script(RECORD_EVENTS)
    cookies = host.person("ana").cookies

    def open_page(path: str, htmx: str) -> Page:
        chosen = {**cookies, "htmx": htmx}
        context.add_cookies([{"name": name, "value": chosen[name], "url": origin} for name in chosen])
        page = context.new_page()
        page.goto(path)
        return page

    yield open_page
    context.close()


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("htmx", VERSIONS)
def test_each_library_keeps_to_its_own(
    host: Host, visit: Callable[[str, str], Page], htmx: str, place: str
) -> None:
    question = host.agent.ask()
    page = visit(f"/ask/rooms/lobby/questions/{question['id']}", f"{htmx}-{place}")
    wait_for_stream(page)
    posts: list[str] = []
    page.on("request", lambda request: request.method == "POST" and posts.append(request.url))
    assert page.evaluate("htmx.version") == VERSIONS[htmx]
    assert page.evaluate("askBridgeHtmx.version") != VERSIONS[htmx]

    # Theirs works as before: one request for a click, with its own configuration.
    with page.expect_response("**/click") as first:
        page.locator("#count").click()
    expect(page.locator("#count")).to_have_text(first.value.text())
    with page.expect_response("**/click") as second:
        page.locator("#count").click()
    assert int(second.value.text()) == int(first.value.text()) + 1
    assert page.evaluate("htmx.config.defaultSettleDelay ?? 500") == 500
    assert page.evaluate("askBridgeHtmx.config.defaultSettleDelay") == 0

    # Ours as well, also after theirs has gone over the whole page again.
    page.evaluate("htmx.process(document.body)")
    click_option(page, "SQLite")
    expect(page.locator('[data-status="answered"]')).to_have_count(1)
    assert host.agent.wait(question["id"], 10)["status"] == "answered"
    assert [url.rpartition("/")[2] for url in posts if "/questions/" in url] == ["answer"]
    assert page.evaluate("heard") == []
    expect(page.locator("#ab-polling")).to_be_hidden()


@pytest.mark.parametrize("htmx", VERSIONS)
def test_boosted_links_of_the_portal_lead_in_and_out_and_back(
    host: Host, visit: Callable[[str, str], Page], htmx: str
) -> None:
    page = visit("/home", f"{htmx}-before")
    page.get_by_role("link", name="Ask Bridge").click()
    wait_for_stream(page)
    assert page.url.endswith("/ask/rooms/lobby")

    page.get_by_role("link", name="Home").click()
    expect(page.get_by_role("heading", name="The portal's own page")).to_be_visible()
    page.wait_for_function("!window.askBridgeHtmx")  # a page of its own, without our scripts
    assert page.url.endswith("/home")

    page.go_back()
    wait_for_stream(page)
    question = host.agent.ask()
    expect(page.locator(f"#card-{question['id']}")).to_be_visible()
