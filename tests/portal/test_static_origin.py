"""A portal whose static files are on another origin: its pages are live, with icons and a service worker."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.harness.agents import Agent
from tests.harness.pages import click_option, mark_open_streams, wait_for_stream
from tests.portal.portals import ASGI_SERVER, PASSWORD, Host, running_host

WORKERS = """
window.workers = [];
window.SharedWorker = class extends SharedWorker {
    constructor(src, how) { super(src, how); window.workers.push(src); }
};
"""
# Both sides in pixels, of the shapes that an icon refers to.
SIZES = "icons => icons.map(icon => icon.getBBox()).map(({ width, height }) => [width, height])"


class Files(SimpleHTTPRequestHandler):
    """A CDN: modules and fonts are loaded from another origin only with this header."""

    def end_headers(self) -> None:
        self.send_header("Access-Control-Allow-Origin", "*")
        super().end_headers()

    def log_message(self, *args: Any) -> None:
        """Nothing to the output of the tests."""


@contextmanager
def static_server(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    data = tmp_path_factory.mktemp("static_origin")
    application = "tests.portal.hosts.asgi:application"
    with static_server(data / "static") as address:
        server = [*ASGI_SERVER, application]
        with running_host("static_origin", data, server, HOST_STATIC_URL=address) as running:
            running.run("django", "collectstatic", "--noinput", "-v0")
            yield running


@pytest.fixture
def page(host: Host, chromium: Browser) -> Iterator[Page]:
    """Ana's page of the room."""
    context = chromium.new_context(base_url=f"http://127.0.0.1:{host.portal.port}")
    mark_open_streams(context)
    context.add_init_script(WORKERS)
    opened = context.new_page()
    opened.goto("/entrance/?next=/ask/rooms/lobby")
    opened.locator("[name=username]").fill("ana@x.org")
    opened.locator("[name=password]").fill(PASSWORD)
    opened.locator("button").click()
    wait_for_stream(opened)
    yield opened
    context.close()


@pytest.fixture
def agent(host: Host) -> Agent:
    return host.agent


def test_one_worker_from_the_origin_of_the_page_has_the_stream(page: Page, agent: Agent, host: Host) -> None:
    own = f"http://127.0.0.1:{host.portal.port}"
    (worker,) = page.evaluate("workers.map((src) => new URL(src, location).href)")
    assert worker.startswith(f"{own}/ask/files/js/stream.js?v=")
    script = page.locator("#ab-stream-script").get_attribute("src") or ""
    assert not script.startswith(own)
    card = page.locator(f"#card-{agent.ask()['id']}")
    expect(card).to_be_visible()
    click_option(page, "SQLite")
    expect(card).to_contain_text("Answered by you")


def test_icons_are_drawn(page: Page) -> None:
    icons = page.locator("svg.ab-icon:visible")
    expect(icons.first).to_be_visible()
    sizes = icons.evaluate_all(SIZES)
    assert sizes
    assert all(width > 0 and height > 0 for width, height in sizes), sizes


def test_the_service_worker_is_registered(page: Page) -> None:
    page.evaluate("navigator.serviceWorker.register(document.getElementById('ab-layout').dataset.worker)")
    registered = page.evaluate("navigator.serviceWorker.ready.then(({ scope }) => new URL(scope).pathname)")
    assert registered == "/ask/"


def test_only_these_files_have_such_an_address(host: Host) -> None:
    for path in ("icons.svg", "js/stream.js"):
        reply = host.portal.request("GET", f"/ask/files/{path}")
        assert (reply.status, reply.headers["Cache-Control"]) == (200, "public, max-age=31536000, immutable")
    for path in ("js/live.js", "../apps.py", "%2e%2e/apps.py", ""):
        assert host.portal.request("GET", f"/ask/files/{path}").status == 404
