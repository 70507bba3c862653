"""People who have forgotten their password get a link by e-mail, and nobody learns who has an account."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from bridge import password_reset, urls
from bridge.login import GUESSES
from tests.harness.timing import eventually

urlpatterns = [*urls.urlpatterns[:1], *urls.PASSWORD_RESET, *urls.urlpatterns[1:]]

PASSWORD = "correct horse battery staple"
NEW = "another long sentence"


@pytest.fixture(autouse=True)
def site(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(password_reset, "PAUSE_SECONDS", 0)
    settings.ROOT_URLCONF = __name__
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.ASK_BRIDGE = settings.ASK_BRIDGE | {"ORIGIN": "https://ask.example.org"}
    yield
    password_reset.mail_thread.wait()  # no mail for the next test


@pytest.fixture
def ana(db: None) -> Any:
    return get_user_model().objects.create_user("ana", email="ana@example.org", password=PASSWORD)


def ask_for_mail(email: str = "ana@example.org", **extra: Any) -> Any:
    return Client().post("/password/reset/", {"email": email}, **extra)


def link_in(mailoutbox: list[Any], number: int = 1) -> str:
    eventually(lambda: len(mailoutbox) == number)
    found = re.search(r"https://ask\.example\.org(/password/reset/\S+)", mailoutbox[number - 1].body)
    assert found
    return found[1]


def choose(link: str, password: str = NEW) -> Any:
    client = Client()
    form = client.get(link)
    assert form.status_code == 302, "the token leaves the address at once"
    return client.post(form["Location"], {"new_password1": password, "new_password2": password})


def signs_in(password: str) -> bool:
    return Client().post("/login/", {"username": "ana", "password": password}).status_code == 302


def test_the_link_in_the_mail_sets_a_new_password(ana: Any, mailoutbox: list[Any]) -> None:
    assert ask_for_mail()["Location"] == "/password/reset/sent/"
    link = link_in(mailoutbox)
    assert mailoutbox[0].to == ["ana@example.org"]
    assert mailoutbox[0].subject == "Ask Bridge: new password"
    assert choose(link)["Location"] == "/password/reset/done/"
    assert signs_in(NEW)
    assert not signs_in(PASSWORD)


def test_the_link_works_once(ana: Any, mailoutbox: list[Any]) -> None:
    ask_for_mail()
    link = link_in(mailoutbox)
    choose(link)
    used = Client().get(link)
    assert "This link does not work" in used.content.decode()


def test_all_sessions_end_with_the_old_password(ana: Any, mailoutbox: list[Any]) -> None:
    elsewhere = Client()
    elsewhere.post("/login/", {"username": "ana", "password": PASSWORD})
    assert elsewhere.get("/").status_code == 200
    ask_for_mail()
    choose(link_in(mailoutbox))
    assert elsewhere.get("/").status_code == 302


def test_the_mail_names_the_site_and_not_the_host_of_the_request(ana: Any, mailoutbox: list[Any]) -> None:
    ask_for_mail(headers={"host": "localhost"})
    assert "localhost" not in mailoutbox[0].body if link_in(mailoutbox) else False


def test_the_reply_does_not_tell_who_has_an_account(ana: Any, mailoutbox: list[Any]) -> None:
    users = get_user_model().objects
    users.create_user("ben", email="ben@example.org")  # without a password: single sign-on
    users.create_user("cleo", email="cleo@example.org", password=PASSWORD, is_active=False)
    for email in ("made-up@example.org", "ben@example.org", "cleo@example.org", "ana@example.org"):
        assert ask_for_mail(email)["Location"] == "/password/reset/sent/"
    link_in(mailoutbox)
    assert [mail.to for mail in mailoutbox] == [["ana@example.org"]]


@pytest.mark.parametrize("email", ["ana@example.org", "made-up@example.org"])
def test_requests_are_limited_like_the_login(ana: Any, email: str) -> None:
    for _ in range(GUESSES):
        assert ask_for_mail(email).status_code == 302
    refused = ask_for_mail(email)
    assert refused.status_code == 429
    assert "requested too often" in refused.content.decode()


def test_many_addresses_cannot_flood_a_mailbox_nor_lock_it(ana: Any, mailoutbox: list[Any]) -> None:
    for number in range(GUESSES + 3):
        assert ask_for_mail(REMOTE_ADDR=f"192.0.2.{number}").status_code == 302
    link = link_in(mailoutbox, GUESSES)
    assert choose(link).status_code == 302
    assert len(mailoutbox) == GUESSES


def test_a_new_password_ends_the_pause_after_wrong_ones(ana: Any, mailoutbox: list[Any]) -> None:
    for _ in range(GUESSES):
        signs_in("wrong")
    ask_for_mail()
    choose(link_in(mailoutbox))
    assert signs_in(NEW)


def test_what_is_refused_says_why(ana: Any, mailoutbox: list[Any]) -> None:
    assert "valid email" in ask_for_mail("ana").content.decode()
    ask_for_mail()
    refused = choose(link_in(mailoutbox), "short")
    assert "too short" in refused.content.decode()
    assert signs_in(PASSWORD)


def test_the_login_page_leads_to_it_only_where_it_is_on(db: None, settings: Any) -> None:
    assert 'href="/password/reset/"' in Client().get("/login/").content.decode()
    settings.ROOT_URLCONF = "bridge.urls"
    assert "Forgot" not in Client().get("/login/").content.decode()
    assert Client().get("/password/reset/").status_code == 404


def test_its_forms_are_hashed_in_the_queue(db: None) -> None:
    from bridge.password_queue import hashes_password

    link = reverse("password_reset_confirm", args=["MQ", "token"])
    for path in ("/password/reset/", link):
        assert hashes_password({"method": "POST", "path": path})
