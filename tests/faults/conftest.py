"""Every promise under attack: embedded, and scaled out with two processes on PostgreSQL and Redis."""

from collections.abc import Iterator

import pytest

from tests.harness.bridges import PEOPLE, Bridge, running_bridge
from tests.harness.people import Person


@pytest.fixture(scope="module", params=["embedded", "scaled"])
def bridge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bridge]:
    """For tests that leave its processes alone."""
    rooms = [f"room-{number:02}" for number in range(40)]
    with running_bridge(request.param, tmp_path_factory.mktemp(request.param) / "data", rooms) as running:
        yield running


@pytest.fixture
def people(bridge: Bridge) -> list[Person]:
    return [bridge.person(username) for username in PEOPLE]
