"""Accessibility of our pages in the admin, in both colour schemes, on phone and desktop."""

from functools import partial

import pytest
from django.contrib.admin.utils import quote
from playwright.sync_api import expect

from tests.browser.gallery import Gallery
from tests.browser.test_accessibility import OpenBrowser, page_of_admin
from tests.harness.accessibility import axe_problems, expect_no_problems
from tests.harness.bridges import Bridge

# Only axe: the small targets are in the frame of Django's admin. Without preload: axe would read the admin's
# styles with an inline style, which the policy forbids; only its rule about audio needs that here.
AXE = partial(axe_problems, preload=False)

# Its own: the questions of the gallery are in its room.
pytestmark = pytest.mark.bridge(rooms=("ops", "docs"))


def test_the_page_of_a_question_in_the_admin(open_browser: OpenBrowser, bridge: Bridge) -> None:
    gallery = Gallery(bridge.agent(), bridge)
    page = page_of_admin(open_browser, bridge, "/settings")
    for question in (gallery.previews, gallery.answered):
        page.goto(f"/admin/ask_bridge/question/{quote(question['id'])}/change/")  # as the list links to it
        expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
        expect_no_problems(page, AXE)
    page.get_by_role("link", name="View card").click()
    expect(page).to_have_url(gallery.answered["url"])
