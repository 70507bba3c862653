"""The weight of a page: few bytes, nothing inline."""

import gzip
import re
from collections.abc import Iterator

import pytest

from tests.harness.bridges import Bridge, running_bridge
from tests.harness.sites import ROOT

STATIC = ROOT / "rooms" / "static" / "ask_bridge"
TEMPLATES = [*ROOT.glob("rooms/templates/**/*.html"), *ROOT.glob("templates/**/*.html")]
SCRIPTS = sorted(STATIC.rglob("*.js"))
# Page, styles, scripts and icons. `tests/browser/test_page_weight.py` measures the same in a browser.
PAGE_BYTES = 90 * 1024


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_every_script_says_what_breaks_without_it(script) -> None:
    head = script.read_text().partition('"use strict";')[0]
    assert "Without it" in head


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_no_script_style_or_handler_stands_in_a_template(template) -> None:
    text = template.read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)", text)
    assert not re.search(r"<style|\sstyle=", text)
    assert not re.search(r"\son[a-z]+=", text)


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bridge]:
    data = tmp_path_factory.mktemp("budget") / "data"
    with running_bridge("embedded", data, open_rooms=["room-00"]) as bridge:
        agent = bridge.agent()
        for _ in range(3):
            agent.ask()
        yield bridge


@pytest.mark.parametrize("path", ["/", "/rooms/room-00", "/settings", "/rooms/room-00/connect", "/history"])
def test_a_page_weighs_under_90_kb(bridge: Bridge, path: str) -> None:
    """The page itself and all files that it names, compressed: what a first visit loads."""
    page = bridge.person().get(path).text
    # The cards are in the page itself: there is nothing to wait for.
    assert page.count('data-status="open"') == {"/": 1, "/rooms/room-00": 3}.get(path, 0)
    files = set(re.findall(r'(?:href|src)="(/static/[^"#]+\.(?:js|css|svg))', page))
    assert len(files) > 10
    bodies = [page.encode(), *(bridge.site.download(file) for file in files)]
    assert sum(len(gzip.compress(body)) for body in bodies) < PAGE_BYTES
