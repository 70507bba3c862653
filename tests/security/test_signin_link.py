"""One-time sign-in links: they work once, for some hours, and never against the settings of the site."""

import re
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from bridge.signin_link import LIFETIME_HOURS, create_link
from rooms import lifecycle


@pytest.fixture
def ana(db: None, settings: Any) -> Any:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return get_user_model().objects.create_user("ana", password="first password")


def signed_in(client: Client) -> bool:
    return client.get("/").status_code == 200


def test_a_link_signs_in_once(ana: Any) -> None:
    path = create_link(ana)
    first, second = Client(), Client()
    assert first.post(path).status_code == 302
    assert signed_in(first)
    assert second.post(path).status_code == 404
    assert not signed_in(second)


def test_a_preview_does_not_use_it_up(ana: Any) -> None:
    path = create_link(ana)
    for _ in range(3):
        page = Client().get(path)
        assert page.status_code == 200
        assert "no-store" in page["Cache-Control"]
    assert Client().head(path).status_code == 200
    client = Client()
    assert not signed_in(client)
    assert client.post(path).status_code == 302


def test_another_site_cannot_press_the_button(ana: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    path = create_link(ana)
    assert client.post(path).status_code == 403
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', client.get(path).content.decode())
    assert token
    assert client.post(path, {"csrfmiddlewaretoken": token[1]}).status_code == 302


def test_only_a_hash_of_it_is_stored(ana: Any) -> None:
    token = create_link(ana).split("/")[2]
    assert len(token) >= 43
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM bridge_cache")
        assert token not in str(cursor.fetchall())


def test_it_ends_after_some_hours(ana: Any) -> None:
    path = create_link(ana)
    with connection.cursor() as cursor:
        cursor.execute("SELECT expires FROM bridge_cache")
        ((expires,),) = cursor.fetchall()
        cursor.execute("UPDATE bridge_cache SET expires = %s", [timezone.now() - timedelta(seconds=1)])
    assert str((timezone.now() + timedelta(hours=LIFETIME_HOURS)).date()) in str(expires)
    assert Client().post(path).status_code == 404


def change_password(user: Any) -> None:
    user.set_password("second password")
    user.save()


def deactivate(user: Any) -> None:
    user.is_active = False
    user.save()


@pytest.mark.parametrize("change", [change_password, deactivate, lambda user: user.delete()])
def test_it_ends_with_the_password_and_with_the_account(ana: Any, change: Callable[[Any], Any]) -> None:
    path = create_link(ana)
    change(ana)
    assert Client().get(path).status_code == 404
    assert Client().post(path).status_code == 404


def test_in_production_only_a_link_that_was_made_for_it_works(ana: Any, settings: Any) -> None:
    path = create_link(ana)
    settings.PRODUCTION = True
    assert Client().post(path).status_code == 404
    with pytest.raises(CommandError, match="--production"):
        call_command("signin_link", "ana")
    printed = StringIO()
    call_command("signin_link", "ana", "--production", stdout=printed)
    path = printed.getvalue().strip().removeprefix(settings.ORIGIN)
    assert Client().post(path).status_code == 302


def test_the_command_refuses_a_user_who_cannot_sign_in(ana: Any) -> None:
    with pytest.raises(CommandError, match="no active user “ben”"):
        call_command("signin_link", "ben")
    deactivate(ana)
    with pytest.raises(CommandError, match="no active user “ana”"):
        call_command("signin_link", "ana")


def test_it_leads_to_the_only_room_or_to_the_inbox(ana: Any) -> None:
    assert Client().post(create_link(ana))["Location"] == "/"
    lifecycle.create_room("lobby", is_open=True)
    assert Client().post(create_link(ana))["Location"] == "/rooms/lobby"
    lifecycle.create_room("ops", is_open=True)
    assert Client().post(create_link(ana))["Location"] == "/"


def test_a_failure_is_logged_without_the_link(ana: Any, caplog: pytest.LogCaptureFixture) -> None:
    path = create_link(ana)
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE bridge_cache")
    client = Client(raise_request_exception=False)
    assert client.get(path).status_code in (500, 503)
    assert "/welcome/" in caplog.text
    assert path.split("/")[2] not in caplog.text
