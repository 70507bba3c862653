"""The weight of a page: few bytes, nothing inline."""

import gzip
import re

import pytest

from tests.harness.bridges import running_bridge
from tests.harness.people import Person
from tests.harness.sites import ROOT

STATIC = ROOT / "rooms" / "static" / "ask_bridge"
TEMPLATES = [*ROOT.glob("rooms/templates/**/*.html"), *ROOT.glob("templates/**/*.html")]
SCRIPTS = sorted(STATIC.rglob("*.js"))


def test_all_our_javascript_weighs_under_20_kb() -> None:
    assert sum(len(gzip.compress(script.read_bytes())) for script in SCRIPTS) < 20 * 1024


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


def test_a_room_page_weighs_under_120_kb(tmp_path) -> None:
    with running_bridge("embedded", tmp_path / "data", open_rooms=["room-00"]) as bridge:
        agent = bridge.agent()
        for _ in range(3):
            agent.ask()
        ana: Person = bridge.person()
        page = ana.get(f"/rooms/{agent.room}").text
        # The cards are in the page itself: there is nothing to wait for.
        assert page.count('data-status="open"') == 3
        files = set(re.findall(r'(?:href|src)="(/static/[^"#]+\.(?:js|css|svg))', page))
        assert len(files) > 10
        bodies = [page.encode(), *(bridge.site.download(file) for file in files)]
        assert sum(len(gzip.compress(body)) for body in bodies) < 120 * 1024
