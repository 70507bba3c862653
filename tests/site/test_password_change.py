"""People change their own password, and only with the current one."""

import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import include, path

from bridge.login import GUESSES

# Of a portal that includes our app and has no page for passwords.
urlpatterns = [path("", include("rooms.urls"))]

PASSWORD = "correct horse battery staple"
NEW = "another long sentence"


@pytest.fixture
def ana(db: None, settings: Any) -> Any:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return get_user_model().objects.create_user("ana", password=PASSWORD)


def signed_in(password: str = PASSWORD) -> Client:
    client = Client()
    assert client.post("/login/", {"username": "ana", "password": password}).status_code == 302
    return client


def change(client: Client, old: str = PASSWORD, new: str = NEW, again: str = NEW) -> Any:
    fields = {"old_password": old, "new_password1": new, "new_password2": again}
    return client.post("/password/", fields)


def test_the_new_password_replaces_the_old_one(ana: Any) -> None:
    client = signed_in()
    changed = change(client)
    assert (changed.status_code, changed["Location"]) == (302, "/password/done/")
    assert "Your password was changed" in client.get("/password/done/").content.decode()
    assert Client().post("/login/", {"username": "ana", "password": PASSWORD}).status_code == 200
    signed_in(NEW)


def test_this_browser_stays_signed_in_and_all_others_are_signed_out(ana: Any) -> None:
    here, elsewhere = signed_in(), signed_in()
    change(here)
    assert here.get("/").status_code == 200
    assert elsewhere.get("/").status_code == 302


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"old": "wrong"}, "Your old password was entered incorrectly"),
        ({"again": "something else"}, "The two password fields didn’t match"),
        ({"new": "short", "again": "short"}, "too short"),
        ({"new": "password", "again": "password"}, "too common"),
        ({"new": "1357924680135", "again": "1357924680135"}, "entirely numeric"),
    ],
)
def test_what_is_refused_says_why_and_changes_nothing(ana: Any, fields: dict[str, str], why: str) -> None:
    client = signed_in()
    refused = change(client, **fields)
    assert refused.status_code == 200
    assert why in refused.content.decode()
    assert client.get("/").status_code == 200
    signed_in()


def test_a_stolen_session_cannot_guess_the_password_without_end(ana: Any) -> None:
    client = signed_in()
    for _ in range(GUESSES):
        assert change(client, old="wrong").status_code == 200
    assert change(client, old="wrong").status_code == 429
    assert change(client).status_code == 429


def test_a_new_password_that_is_refused_costs_no_guess(ana: Any) -> None:
    client = signed_in()
    for _ in range(GUESSES + 1):
        assert change(client, new="short", again="short").status_code == 200
    assert change(client).status_code == 302


def test_the_settings_lead_to_it(ana: Any) -> None:
    client = signed_in()
    assert 'href="/password/"' in client.get("/settings").content.decode()
    page = client.get("/password/").content.decode()
    assert re.findall(r'<input type="password" name="(\w+)"', page) == [
        "old_password",
        "new_password1",
        "new_password2",
    ]
    assert 'class="ab-gate-box"' in page


def test_a_portal_without_such_an_address_has_no_link(ana: Any, settings: Any) -> None:
    client = signed_in()
    settings.ROOT_URLCONF = __name__
    settings.LOGIN_URL = "/login/"
    page = client.get("/settings")
    assert page.status_code == 200
    assert "/password/" not in page.content.decode()
