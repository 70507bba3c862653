"""A user name is one name on every database, and so has one limit of guesses."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from bridge.login import GUESSES

PASSWORD = "correct horse battery staple"

pytestmark = pytest.mark.mariadb


@pytest.fixture(autouse=True)
def ana(db: None, settings: Any) -> Any:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return get_user_model().objects.create_user("ana", password=PASSWORD)


def sign_in(username: str, password: str = PASSWORD) -> int:
    return Client().post("/login/", {"username": username, "password": password}).status_code


@pytest.mark.parametrize("username", ["Ana", "ANA", "ána"])
def test_another_spelling_signs_nobody_in(username: str) -> None:
    assert sign_in(username) == 200
    assert sign_in("ana") == 302
    assert sign_in(" ana ") == 302, "spaces around it are dropped"


def test_another_spelling_gives_no_further_guesses() -> None:
    assert [sign_in("ana", "wrong") for _ in range(GUESSES)] == [200] * GUESSES
    assert sign_in("ana") == 429
    assert sign_in("Ana") == 200, "not signed in"
