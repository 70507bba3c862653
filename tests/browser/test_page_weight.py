"""What a browser transfers for a room page: little at the first visit, only the page itself at the second."""

import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, CDPSession, Page, expect

from tests.harness.bridges import Bridge

# Page, styles, scripts and icons, compressed. The first paint on a phone waits for most of it.
FIRST_VISIT_BYTES = 90 * 1024
YEAR_SECONDS = 365 * 24 * 3600


@dataclass
class Transfers:
    """Requests of a page that reached the network, without event streams, and their bytes with headers.

    The script of the shared worker is loaded outside of the page, and so is not among them.
    """

    session: CDPSession
    urls: dict[str, str] = field(default_factory=dict)
    received: set[str] = field(default_factory=set)
    cached: set[str] = field(default_factory=set)
    sizes: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.session.on("Network.requestWillBeSent", self._sent)
        self.session.on("Network.requestServedFromCache", self._from_cache)
        self.session.on("Network.responseReceived", self._received)
        self.session.on("Network.loadingFinished", self._finished)
        self.session.send("Network.enable")

    def _sent(self, event: Any) -> None:
        self.urls[event["requestId"]] = event["request"]["url"]

    def _from_cache(self, event: Any) -> None:
        self.cached.add(event["requestId"])

    def _received(self, event: Any) -> None:
        if event["response"].get("fromDiskCache"):
            self.cached.add(event["requestId"])
        else:
            self.received.add(event["requestId"])

    def _finished(self, event: Any) -> None:
        self.sizes[event["requestId"]] = event["encodedDataLength"]

    @property
    def bytes(self) -> float:
        return sum(size for request, size in self.sizes.items() if request not in self.cached)

    @property
    def requests(self) -> list[str]:
        return [
            url
            for request, url in self.urls.items()
            if request in self.received - self.cached and not url.partition("?")[0].endswith("/stream")
        ]

    def forget(self) -> None:
        for found in (self.urls, self.received, self.cached, self.sizes):
            found.clear()


@pytest.fixture
def page(chromium: Browser, bridge: Bridge) -> Any:
    ana = bridge.person()
    address = f"http://127.0.0.1:{ana.site.port}"
    context = chromium.new_context(base_url=address)
    cookies = [{"name": name, "value": value, "url": address} for name, value in ana.cookies.items()]
    context.add_cookies(cookies)
    yield context.new_page()
    context.close()


def test_a_room_page_is_light_and_its_second_visit_is_one_request(page: Page, bridge: Bridge) -> None:
    agent = bridge.agent()
    for _ in range(3):
        agent.ask()
    room = f"/rooms/{agent.room}"
    transfers = Transfers(page.context.new_cdp_session(page))
    page.goto(room, wait_until="load")
    expect(page.locator('[data-status="open"]')).to_have_count(3)
    assert len(transfers.requests) > 10
    assert transfers.bytes < FIRST_VISIT_BYTES

    page.goto("about:blank")
    transfers.forget()
    page.goto(room, wait_until="load")
    expect(page.locator('[data-status="open"]')).to_have_count(3)
    assert [url.partition(str(bridge.other_site.port))[2] for url in transfers.requests] == [room]


def test_static_files_are_compressed_and_never_asked_for_again(page: Page, bridge: Bridge) -> None:
    agent = bridge.agent()
    seen: dict[str, dict[str, str]] = {}
    page.on("response", lambda reply: seen.update({reply.url: reply.headers}))
    page.goto(f"/rooms/{agent.room}", wait_until="load")
    static = {url: headers for url, headers in seen.items() if "/static/" in url}
    assert len(static) > 10
    for url, headers in static.items():
        assert "immutable" in headers["cache-control"], url
        assert int(re.findall(r"max-age=(\d+)", headers["cache-control"])[0]) >= YEAR_SECONDS, url
        is_small = int(headers["content-length"]) < 1000
        assert is_small or headers.get("content-encoding") == "gzip", url
        # Seventy bytes for each of fifty files.
        assert not {"etag", "last-modified"} & headers.keys(), url
    [document] = [headers for url, headers in seen.items() if url.endswith(agent.room)]
    assert document["content-encoding"] == "gzip"
