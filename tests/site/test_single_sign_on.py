"""Single sign-on without its provider: what is refused before anyone is asked, and what hangs."""

import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from bridge import single_sign_on, urls

urlpatterns = [*urls.SINGLE_SIGN_ON, *urls.urlpatterns]


@pytest.fixture(autouse=True)
def provider(settings: Any) -> Iterator[socket.socket]:
    """Accepts connections and never replies."""
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        settings.ROOT_URLCONF = __name__
        settings.OIDC_ISSUER = f"http://127.0.0.1:{hanging.getsockname()[1]}"
        settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = "ask-bridge", "secret"
        single_sign_on._provider.cache_clear()
        yield hanging
        single_sign_on._provider.cache_clear()


def test_a_provider_that_hangs_gives_a_page_and_not_all_threads(
    db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(single_sign_on, "TIMEOUT_SECONDS", 0.2)
    failed = Client().get("/sso/")
    assert failed.status_code == 502
    assert "cannot be reached" in failed.content.decode()
    monkeypatch.setattr(single_sign_on, "TURN_SECONDS", 0.01)
    for _ in range(single_sign_on.AT_ONCE):
        single_sign_on._turns.acquire()
    try:
        assert Client().get("/sso/").status_code == 502
    finally:
        for _ in range(single_sign_on.AT_ONCE):
            single_sign_on._turns.release()
    assert "still waiting" in caplog.text


@pytest.mark.parametrize("query", ["", "?code=x", "?state=x", "?code=x&state=x", "?error=access_denied"])
def test_a_callback_that_was_not_begun_asks_nobody_for_long(
    db: None, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(single_sign_on, "TIMEOUT_SECONDS", 0.2)
    refused = Client().get(f"/sso/callback/{query}")
    assert refused.status_code == (502 if query == "?code=x&state=x" else 403)


def test_the_login_page_offers_it_with_the_name_and_keeps_the_place(db: None, settings: Any) -> None:
    settings.OIDC_NAME = "Example <Ltd>"
    page = Client().get("/login/?next=/rooms/lobby").content.decode()
    assert 'href="/sso/?next=/rooms/lobby"' in page
    assert "Sign in with Example &lt;Ltd&gt;" in page
    settings.OIDC_NAME = ""
    assert "Sign in with your organisation" in Client().get("/login/").content.decode()
    settings.ROOT_URLCONF = "bridge.urls"
    assert "/sso/" not in Client().get("/login/").content.decode()
    assert Client().get("/sso/").status_code == 404


@pytest.mark.parametrize("place", ["/history", "²", "no-page", "login"])
def test_signed_in_people_are_led_to_the_place_as_an_address(
    db: None, django_user_model: Any, place: str
) -> None:
    client = Client()
    client.force_login(django_user_model.objects.create_user("ana"))
    assert client.get("/sso/", {"next": place})["Location"] == quote(place)


def test_signed_in_people_without_rights_see_the_admin_say_so(db: None, django_user_model: Any) -> None:
    client = Client()
    assert client.get("/admin/login/?next=/admin/")["Location"] == "/login/?next=/admin/"
    client.force_login(django_user_model.objects.create_user("ana"))
    assert "not authorized" in client.get("/admin/login/?next=/admin/").content.decode()
