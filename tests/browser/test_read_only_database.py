"""A click while the database refuses writes: shown on the card, and nothing typed is lost."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.harness.bridges import Bridge
from tests.harness.pages import wait_for_stream
from tests.harness.read_only_databases import set_read_only

# On a PostgreSQL of its own: the tests make it read-only.
pytestmark = pytest.mark.bridge(kinds=("scaled",), rooms=("room-00", "room-01"))


@pytest.fixture
def read_only(bridge: Bridge) -> Iterator[None]:
    yield set_read_only(bridge.environment["DATABASE_URL"], True)
    set_read_only(bridge.environment["DATABASE_URL"], False)


def test_the_card_says_what_is_wrong_and_keeps_what_was_typed(
    bridge: Bridge, open_browser, request: pytest.FixtureRequest
) -> None:
    agent = bridge.agent()
    question = agent.ask()
    page: Page = open_browser().new_page()
    page.goto(f"/rooms/{agent.room}")
    wait_for_stream(page)
    page.get_by_text("Other…").click()
    page.get_by_label("Your own answer to").fill("Both of them")
    request.getfixturevalue("read_only")
    # A click while the connections are cut says so; the next click meets the new ones.
    sentence = page.get_by_role("alert").filter(has_text="The database is read-only, so nothing was saved")
    page.get_by_role("button", name="Submit").click()
    expect(page.locator(".ab-errors .ab-field-error")).to_be_visible()
    page.get_by_role("button", name="Submit").click()
    expect(sentence).to_be_visible()
    expect(page.get_by_label("Your own answer to")).to_have_value("Both of them")
    assert agent.read(question["id"])["status"] == "open"
