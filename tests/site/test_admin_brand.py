"""The admin of the standalone site has the name and the colours of Ask Bridge; a portal's does not."""

from django.contrib.auth import get_user_model
from django.test import Client

from tests.harness.sites import ROOT


def test_the_admin_is_named_ask_bridge_and_leads_to_the_inbox(db: None) -> None:
    browser = Client()
    browser.force_login(get_user_model().objects.create_superuser("root"))
    content = browser.get("/admin/").content.decode()
    assert "<title>Administration | Ask Bridge</title>" in content
    assert "site-admin" in content
    assert "ask_bridge/icon" in content
    assert '<a href="/">View site</a>' in content


def test_rooms_does_not_replace_the_base_of_a_portals_admin() -> None:
    assert not (ROOT / "rooms" / "templates" / "admin").exists()
