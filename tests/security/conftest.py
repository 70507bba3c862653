"""A running bridge for the attacks that leave it standing, and the Chromium of the tests of pages."""

from collections.abc import Iterator

import pytest

from tests.harness.bridges import Bridge, running_bridge

ROOMS = [f"room-{number:02}" for number in range(24)]


@pytest.fixture(scope="session")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bridge]:
    """One process on SQLite, shared by all tests that do not try to bring it down."""
    with running_bridge("embedded", tmp_path_factory.mktemp("security") / "data", ROOMS) as running:
        yield running
