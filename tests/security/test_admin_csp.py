"""Django's admin works under the same strict Content Security Policy as all pages, without an exception."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from tests.harness.bridges import Bridge
from tests.harness.people import Person


@cache
def first_admin(bridge: Bridge) -> Person:
    """Signed in once for all tests: checking a password takes a while."""
    (password,) = re.findall(r"Password +(\S+)", bridge.greeting)
    return Person(bridge.site, "admin", password)


@pytest.fixture
def admin(chromium: Browser, bridge: Bridge) -> Iterator[Page]:
    """The admin of the first start, in a browser; an error or a violated policy fails the test."""
    person = first_admin(bridge)
    origin = f"http://127.0.0.1:{bridge.site.port}"
    happened: list[Any] = []

    def hear(message: ConsoleMessage) -> None:
        # Browsers look for an icon of every page that names none.
        if message.type == "error" and not message.location["url"].endswith("/favicon.ico"):
            happened.append(message.text)

    context = chromium.new_context(base_url=origin)
    context.on("weberror", lambda error: happened.append(error.error))
    context.on("console", hear)
    context.add_cookies(
        [{"name": name, "value": value, "url": origin} for name, value in person.cookies.items()]
    )
    yield context.new_page()
    context.close()
    assert happened == []


def test_a_room_is_made_with_a_member_and_a_key(admin: Page) -> None:
    admin.goto("/admin/ask_bridge/room/add/")
    admin.get_by_label("Name:", exact=True).press_sequentially("War room")
    expect(admin.get_by_label("Slug:")).to_have_value("war-room")
    admin.get_by_role("button", name="Add another Member").click()
    with admin.expect_popup() as popup:
        admin.locator("#lookup_id_memberships-0-user").click()
    popup.value.get_by_role("link", name="ana", exact=True).click()
    expect(admin.locator("#id_memberships-0-user")).not_to_have_value("")
    admin.get_by_role("button", name="Add another Agent key").click()
    admin.locator("#id_keys-0-label").fill("bot")
    admin.get_by_role("button", name="Save", exact=True).click()
    expect(admin.get_by_text(re.compile(r"abk_[0-9a-z]{10}_[0-9a-z]{40}"))).to_be_visible()
    admin.get_by_role("link", name="Copied, continue").click()
    admin.get_by_label("Select this object for an action").first.check()
    admin.get_by_label("Action:").select_option(label="Revoke all keys")
    admin.get_by_role("button", name="Run").or_(admin.get_by_role("button", name="Go")).click()
    expect(admin.get_by_text("Keys revoked: ")).to_be_visible()


def test_the_scripts_of_a_large_form_work(admin: Page) -> None:
    admin.goto("/admin/auth/user/")
    admin.get_by_role("link", name="admin", exact=True).click()
    admin.get_by_role("link", name=re.compile("Choose a Date")).first.click()
    expect(admin.locator(".calendarbox").first).to_be_visible()
    admin.get_by_role("link", name="Cancel").first.click()
    chosen = admin.locator("#id_user_permissions_to option")
    admin.locator("#id_user_permissions_from option").first.dblclick()
    expect(chosen).to_have_count(1)
    admin.get_by_role("button", name=re.compile("Toggle theme")).first.click()
    expect(admin.locator("html")).to_have_attribute("data-theme", re.compile("light|dark"))


@pytest.mark.parametrize(
    "path",
    [
        "/admin/",
        "/admin/ask_bridge/",
        "/admin/ask_bridge/room/?q=room&is_open__exact=1",
        "/admin/ask_bridge/agentkey/?state=alive",
        "/admin/ask_bridge/agentkey/add/",
        "/admin/ask_bridge/question/?status__exact=open",
        "/admin/ask_bridge/answer/",
        "/admin/ask_bridge/message/",
        "/admin/auth/group/add/",
        "/admin/auth/user/add/",
        "/admin/auth/user/1/password/",
        "/admin/auth/user/1/history/",
        "/admin/auth/user/1/delete/",
        "/admin/password_change/",
    ],
)
def test_a_page_of_the_admin_violates_nothing(admin: Page, path: str) -> None:
    response = admin.goto(path)
    assert response
    assert response.status == 200
    expect(admin.locator("#content")).to_be_visible()
