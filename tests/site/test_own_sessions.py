"""The list of one's own sessions, and how they end."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.utils import timezone

from bridge import urls
from bridge.models import UserSession
from rooms import access

urlpatterns = [*urls.SESSION_LIST, *urls.urlpatterns]

PASSWORD = "correct horse battery staple"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/18.0 Mobile/15E148 Safari/604.1"
)


@pytest.fixture(autouse=True)
def site(settings: Any) -> None:
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "bridge.own_sessions.OwnSessionsMiddleware"]
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def ana(db: None) -> Any:
    return get_user_model().objects.create_user("ana", password=PASSWORD)


def signed_in(user_agent: str = FIREFOX, username: str = "ana") -> Client:
    client = Client(headers={"user-agent": user_agent})
    assert client.post("/login/", {"username": username, "password": PASSWORD}).status_code == 302
    return client


def is_signed_in(client: Client) -> bool:
    return client.get("/").status_code == 200


def listed(client: Client) -> list[str]:
    return re.findall(r"<strong>(.+?)</strong>", client.get("/sessions/").content.decode())


def test_the_list_has_each_device_with_this_one_first(ana: Any) -> None:
    here, phone = signed_in(), signed_in(IPHONE)
    page = here.get("/sessions/").content.decode()
    assert listed(here) == ["Firefox on Linux", "Safari on iPhone"]
    assert page.count("this browser") == 1
    assert "Last seen" in page
    assert listed(phone) == ["Safari on iPhone", "Firefox on Linux"]


def test_another_person_sees_and_ends_only_their_own(ana: Any) -> None:
    get_user_model().objects.create_user("ben", password=PASSWORD)
    here, ben = signed_in(), signed_in(IPHONE, "ben")
    assert listed(ben) == ["Safari on iPhone"]
    ben.post("/sessions/", {"end": UserSession.objects.get(user=ana).pk})
    ben.post("/sessions/", {"others": "1"})
    assert is_signed_in(here)


def test_signing_out_everywhere_else_ends_all_but_this_session(ana: Any) -> None:
    here, *others = signed_in(), signed_in(), signed_in(IPHONE)
    keys = [client.cookies["sessionid"].value for client in others]
    here.post("/sessions/", {"others": "1"})
    assert is_signed_in(here)
    assert not any(is_signed_in(client) for client in others)
    # What open streams ask every ten seconds.
    assert not any(access.user_of_session(key).is_authenticated for key in keys)


def test_signing_out_everywhere_ends_this_session_as_well(ana: Any, settings: Any) -> None:
    with_list = settings.MIDDLEWARE
    settings.MIDDLEWARE = with_list[:-1]
    never_noted = signed_in()
    settings.MIDDLEWARE = with_list
    get_user_model().objects.create_user("ben", password=PASSWORD)
    here, phone, ben = signed_in(), signed_in(IPHONE), signed_in(username="ben")
    key = here.cookies["sessionid"].value
    assert 'name="all"' in here.get("/sessions/").content.decode()
    assert here.post("/sessions/", {"all": "1"})["Location"] == "/login/"
    assert not any(map(is_signed_in, (here, phone, never_noted)))
    assert not access.user_of_session(key).is_authenticated
    assert is_signed_in(ben)


def test_it_ends_sessions_that_were_never_noted_as_well(ana: Any, settings: Any) -> None:
    with_list = settings.MIDDLEWARE
    settings.MIDDLEWARE = with_list[:-1]
    old = signed_in()
    settings.MIDDLEWARE = with_list
    here = signed_in()
    assert listed(here) == ["Firefox on Linux"]
    here.post("/sessions/", {"others": "1"})
    assert not is_signed_in(old)
    assert is_signed_in(here)


def test_one_session_can_be_ended(ana: Any) -> None:
    here, phone, laptop = signed_in(), signed_in(IPHONE), signed_in()
    found = re.search(r'value="(\d+)"\s+aria-label="Sign out Safari', here.get("/sessions/").content.decode())
    assert found
    here.post("/sessions/", {"end": found[1]})
    assert not is_signed_in(phone)
    assert is_signed_in(laptop)
    assert is_signed_in(here)


@pytest.mark.parametrize("number", ["", "one", "²", "-1", "9" * 30, "9" * 5000])
def test_a_session_that_does_not_exist_ends_nothing(ana: Any, number: str) -> None:
    here = signed_in()
    assert here.post("/sessions/", {"end": number})["Location"] == "/sessions/"
    assert is_signed_in(here)


def test_the_page_shows_no_key_of_a_session(ana: Any) -> None:
    here, phone = signed_in(), signed_in(IPHONE)
    page = here.get("/sessions/").content.decode()
    assert phone.cookies["sessionid"].value not in page
    assert here.cookies["sessionid"].value not in page


def test_what_has_ended_otherwise_is_not_listed(ana: Any) -> None:
    signed_out, expired, here = signed_in(IPHONE), signed_in(IPHONE), signed_in()
    signed_out.post("/logout/")
    assert UserSession.objects.count() == 2, "a session takes its entry with it"
    key = expired.cookies["sessionid"].value
    Session.objects.filter(pk=key).update(expire_date=timezone.now() - timedelta(days=1))
    assert listed(here) == ["Firefox on Linux"]


def test_a_new_password_clears_the_list(ana: Any) -> None:
    signed_in(IPHONE)
    here = signed_in()
    new = "another long sentence"
    fields = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert here.post("/password/", fields).status_code == 302
    here.get("/")
    assert listed(here) == ["Firefox on Linux"]


def test_a_session_is_noted_once_a_minute_and_not_with_every_click(ana: Any) -> None:
    here = signed_in()
    here.get("/sessions/")
    first = UserSession.objects.get().seen_at
    for _ in range(3):
        here.get("/sessions/")
    assert UserSession.objects.get().seen_at == first


def test_visitors_leave_no_trace(db: None) -> None:
    Client().get("/login/")
    assert not UserSession.objects.exists()
    assert Client().get("/sessions/")["Location"] == "/login/?next=/sessions/"


def test_the_settings_lead_to_it_only_where_it_is_on(ana: Any, settings: Any) -> None:
    here = signed_in()
    assert 'href="/sessions/"' in here.get("/settings").content.decode()
    settings.ROOT_URLCONF = "bridge.urls"
    assert "/sessions/" not in here.get("/settings").content.decode()
    assert here.get("/sessions/").status_code == 404


@pytest.mark.skipif(connection.vendor != "sqlite", reason="how to refuse writes differs")
def test_pages_can_be_read_while_the_database_refuses_writes(ana: Any, settings: Any) -> None:
    here = signed_in()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only = ON")
        try:
            assert (
                Client(headers={"cookie": f"sessionid={here.cookies['sessionid'].value}"})
                .get("/")
                .status_code
                == 200
            )
        finally:
            cursor.execute("PRAGMA query_only = OFF")
