"""`make screenshots`: its states are made on a real site, with an index of their pictures."""

import subprocess
import sys

import pytest

from tests.harness.sites import ROOT

pytestmark = pytest.mark.usefixtures("launch_options")  # skips where Chromium is missing


def screenshots(*names: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "scripts/screenshots.py", *names], cwd=ROOT, capture_output=True, text=True
    )


def test_chosen_states_are_taken_in_all_their_looks() -> None:
    done = screenshots("inbox-nothing-matches", "connect-done")
    assert done.returncode == 0, done.stderr
    pictures = ROOT / "build" / "screenshots"
    index = (pictures / "index.html").read_text()
    for name in ("inbox-nothing-matches-light-1280.png", "connect-done-dark-390.png"):
        assert (pictures / name).stat().st_size > 10_000
        assert f'<img src="{name}"' in index


def test_an_unknown_state_is_refused_with_the_known_ones() -> None:
    refused = screenshots("no-such-page")
    assert refused.returncode == 2
    assert "No such state: no-such-page. There are: inbox, " in refused.stderr
