"""Login and admin pages while the database refuses writes."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import DatabaseError
from django.test import Client

from bridge.login import GUESSES
from bridge.sessions import SessionStore
from rooms.db.transactions import Refusal, refusal_of
from tests.harness.read_only_databases import read_only

pytestmark = pytest.mark.django_db(transaction=True)
PASSWORD = "correct horse battery staple"


@pytest.fixture
def ana(settings: Any) -> Any:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return get_user_model().objects.create_user("ana", password=PASSWORD, is_staff=True)


def sign_in(password: str = PASSWORD, path: str = "/login/") -> Any:
    client = Client(raise_request_exception=False)
    return client.post(path, {"username": "ana", "password": password})


@pytest.mark.parametrize("path", ["/login/", "/admin/login/"])
def test_a_right_password_is_told_what_is_wrong(ana: Any, path: str) -> None:
    with read_only():
        for _ in range(GUESSES + 1):
            refused = sign_in(path=path)
            assert refused.status_code == 503
            assert int(refused["Retry-After"]) > 0
            assert "The database is read-only." in refused.content.decode()
    assert sign_in(path=path).status_code == 302


def test_a_wrong_password_is_told_the_same_and_nothing_is_guessed(ana: Any) -> None:
    with read_only():
        assert sign_in("wrong").content == sign_in().content


def test_who_has_to_pause_still_has_to(ana: Any) -> None:
    for _ in range(GUESSES):
        sign_in("wrong")
    with read_only():
        assert sign_in().status_code == 429


def test_signing_out_says_that_it_did_not_work(ana: Any) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(ana)
    with read_only():
        refused = client.post("/logout/")
    assert refused.status_code == 503
    assert "read-only" in refused.content.decode()


def test_a_session_that_cannot_be_saved_has_not_ended(ana: Any) -> None:
    session = SessionStore()
    session["seen"] = 1
    session.save()
    session["seen"] = 2
    with read_only(), pytest.raises(DatabaseError) as refused:
        session.save()
    assert refusal_of(refused.value) is Refusal.READ_ONLY
