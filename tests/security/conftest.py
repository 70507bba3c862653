"""A running bridge for the attacks that leave it standing, and the Chromium of the tests of pages."""

from collections.abc import Iterator

import pytest

from tests.browser.conftest import chromium, how_to_launch
from tests.world import World, world

__all__ = ["bridge", "chromium", "how_to_launch"]

ROOMS = [f"room-{number:02}" for number in range(24)]


@pytest.fixture(scope="session")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One process on SQLite, shared by all tests that do not try to bring it down."""
    with world("embedded", tmp_path_factory.mktemp("security") / "data", ROOMS) as running:
        yield running
