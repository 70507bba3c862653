"""A second factor: asked for after each way to sign in, in the admin and for streams as well."""

import re
import time
from base64 import b32decode
from io import StringIO
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import URLPattern, reverse
from django_otp.oath import TOTP

from bridge import models, urls
from bridge.login import GUESSES
from bridge.models import RECOVERY_CODES, STEP_SECONDS, Authenticator, RecoveryCode
from bridge.second_factor import OPEN
from bridge.signin_link import create_link
from rooms import lifecycle
from rooms.models import Message

urlpatterns = [*urls.TWO_FACTOR, *urls.urlpatterns]

PASSWORD = "correct horse battery staple"
MIDDLEWARE = ["django_otp.middleware.OTPMiddleware", "bridge.second_factor.SecondFactorMiddleware"]


class Phone:
    """An authenticator app with a clock of its own, which is also that of the site."""

    def __init__(self) -> None:
        self.now = time.time()
        self.key = b""

    def time(self) -> float:
        return self.now

    def code(self) -> str:
        """The next code: none works twice."""
        self.now += STEP_SECONDS
        return self.current()

    def current(self) -> str:
        shown = TOTP(self.key, STEP_SECONDS)
        shown.time = self.now
        return f"{shown.token():06}"

    def scan(self, client: Client) -> None:
        page = client.get("/second-factor/setup/").content.decode()
        found = re.search(r'ab-key-to-type">([\w ]+)<', page)
        assert found
        self.key = b32decode(found[1].replace(" ", ""))


@pytest.fixture(autouse=True)
def phone(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Phone:
    settings.ROOT_URLCONF = __name__
    settings.TWO_FACTOR = "optional"
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, *MIDDLEWARE]
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    phone = Phone()
    monkeypatch.setattr(models, "time", phone)
    return phone


@pytest.fixture
def ana(db: None) -> Any:
    lifecycle.create_room("lobby", name="Lobby", is_open=True)
    return get_user_model().objects.create_superuser("ana", password=PASSWORD)


def signed_in(path: str = "/login/") -> Client:
    client = Client()
    fields = {"username": "ana", "password": PASSWORD}
    assert client.post(path, fields).status_code == 302
    return client


def set_up(phone: Phone, ana: Any) -> tuple[Client, list[str]]:
    """A browser that has set the app up, and the recovery codes."""
    client = signed_in()
    phone.scan(client)
    page = client.post("/second-factor/setup/", {"code": phone.code()})
    assert page.status_code == 200
    return client, re.findall(r"<code>([\w-]+)</code>", page.content.decode())


def enter(client: Client, code: str, next_page: str = "/") -> Any:
    return client.post("/second-factor/", {"code": code, "next": next_page})


# ---- signing in ------------------------------------------------------------------------------------------


def test_after_the_setup_a_password_alone_opens_nothing(ana: Any, phone: Phone) -> None:
    here, _ = set_up(phone, ana)
    assert here.get("/").status_code == 200
    client = signed_in()
    for path in ("/", "/rooms/lobby", "/settings", "/password/", "/admin/", "/history/export.csv"):
        assert client.get(path)["Location"] == f"/second-factor/?next={path}", path
    assert enter(client, phone.code(), "/rooms/lobby")["Location"] == "/rooms/lobby"
    assert client.get("/rooms/lobby").status_code == 200
    assert client.get("/admin/").status_code == 200


@pytest.mark.parametrize("path", ["/stream", "/rooms/lobby/stream"])
def test_streams_and_polls_are_refused_without_it(ana: Any, phone: Phone, path: str) -> None:
    set_up(phone, ana)
    client = signed_in()
    assert client.get(path)["Location"].startswith("/second-factor/")
    enter(client, phone.code())
    assert client.get(path).status_code == 200


def test_forms_and_parts_of_pages_change_nothing_without_it(ana: Any, phone: Phone) -> None:
    set_up(phone, ana)
    client = signed_in()
    assert client.post("/rooms/lobby/messages", {"content": "Hello"})["Location"] == "/second-factor/?next=/"
    part = client.post("/rooms/lobby/messages", {"content": "Hello"}, headers={"hx-request": "true"})
    assert part.status_code == 401
    assert "/second-factor/" in part.content.decode()
    assert not Message.objects.exists()


@pytest.mark.parametrize("way", ["/admin/login/", "link"])
def test_every_way_to_sign_in_asks_for_it(ana: Any, phone: Phone, way: str) -> None:
    set_up(phone, ana)
    if way == "link":
        client = Client()
        client.post(create_link(ana))
    else:
        client = signed_in(way)
    assert client.get("/")["Location"] == "/second-factor/?next=/"


@pytest.mark.parametrize("place", ["²", "99", "no-page", "login"])
def test_a_place_that_is_no_page_is_no_error(ana: Any, phone: Phone, place: str) -> None:
    """It is an address, as on Django's login page, and not the name of a page."""
    set_up(phone, ana)
    client = signed_in()
    assert enter(client, phone.code(), place)["Location"] == quote(place)
    assert client.get("/second-factor/", {"next": place})["Location"] == quote(place)


def test_a_code_works_once(ana: Any, phone: Phone) -> None:
    set_up(phone, ana)
    code = phone.code()
    assert enter(signed_in(), code).status_code == 302
    again = enter(signed_in(), code)
    assert again.status_code == 422
    assert "used already" in again.content.decode()


@pytest.mark.parametrize("code", ["", "000000", "12345", "1234567", "abcdef", "²²²²²²"])
def test_what_is_no_current_code_is_refused(ana: Any, phone: Phone, code: str) -> None:
    set_up(phone, ana)
    client = signed_in()
    assert enter(client, code).status_code == 422
    assert client.get("/").status_code == 302


def test_an_old_code_is_refused(ana: Any, phone: Phone) -> None:
    set_up(phone, ana)
    code = phone.code()
    phone.now += 3 * STEP_SECONDS
    assert enter(signed_in(), code).status_code == 422


def test_guesses_are_limited_per_person_from_all_addresses(ana: Any, phone: Phone) -> None:
    set_up(phone, ana)
    client = signed_in()
    for number in range(GUESSES):
        fields = {"code": "000000"}
        assert client.post("/second-factor/", fields, REMOTE_ADDR=f"192.0.2.{number}").status_code == 422
    refused = client.post("/second-factor/", {"code": phone.code()}, REMOTE_ADDR="192.0.2.99")
    assert refused.status_code == 429
    assert "That code was wrong too often" in refused.content.decode()
    assert client.get("/").status_code == 302


def test_the_session_gets_a_new_key_with_its_second_factor(ana: Any, phone: Phone) -> None:
    set_up(phone, ana)
    client = signed_in()
    before = client.cookies["sessionid"].value
    enter(client, phone.code())
    assert client.cookies["sessionid"].value != before


def test_it_leads_to_no_other_site(ana: Any, phone: Phone) -> None:
    set_up(phone, ana)
    assert enter(signed_in(), phone.code(), "https://evil.example")["Location"] == "/"


# ---- recovery codes --------------------------------------------------------------------------------------


def test_each_recovery_code_works_once_in_any_spelling(ana: Any, phone: Phone) -> None:
    _, codes = set_up(phone, ana)
    assert len(set(codes)) == RECOVERY_CODES
    spelled = f" {codes[0].replace('-', ' ').upper()} "
    assert enter(signed_in(), spelled).status_code == 302
    assert enter(signed_in(), codes[0]).status_code == 422
    assert enter(signed_in(), codes[1]).status_code == 302


def test_new_recovery_codes_replace_the_old_ones(ana: Any, phone: Phone) -> None:
    here, old = set_up(phone, ana)
    assert "10 recovery codes are left" in here.get("/second-factor/setup/").content.decode()
    page = here.post("/second-factor/setup/", {"code": phone.code(), "codes": "new"})
    new = re.findall(r"<code>([\w-]+)</code>", page.content.decode())
    assert len(new) == RECOVERY_CODES
    assert enter(signed_in(), old[0]).status_code == 422
    assert enter(signed_in(), new[0]).status_code == 302


def test_neither_secret_nor_codes_can_be_read_in_the_database(ana: Any, phone: Phone) -> None:
    _, codes = set_up(phone, ana)
    stored = Authenticator.objects.get().secret + "".join(
        RecoveryCode.objects.values_list("digest", flat=True)
    )
    assert phone.key.hex() not in stored
    assert not any(code.replace("-", "") in stored for code in codes)


def test_both_survive_a_change_of_the_secret_key(ana: Any, phone: Phone, settings: Any) -> None:
    _, codes = set_up(phone, ana)
    before = Authenticator.objects.get().secret
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "x" * 50
    assert enter(signed_in(), codes[0]).status_code == 302
    assert enter(signed_in(), phone.code()).status_code == 302
    assert Authenticator.objects.get().secret != before
    settings.SECRET_KEY_FALLBACKS = []
    assert enter(signed_in(), phone.code()).status_code == 302, (
        "encrypted with the new key since its last use"
    )


# ---- setting it up, and off ------------------------------------------------------------------------------


def test_the_setup_shows_a_qr_code_without_inline_styles(ana: Any, phone: Phone) -> None:
    page = signed_in().get("/second-factor/setup/").content.decode()
    qr_code = re.search(r"<svg[^>]*ab-qr.*?</svg>", page, re.DOTALL)
    assert qr_code
    assert "style" not in qr_code[0]
    assert "<title>" in qr_code[0]
    address = re.search(r'href="(otpauth://[^"]+)"', page)
    assert address
    assert address[1].startswith("otpauth://totp/Ask%20Bridge%20")


def test_a_setup_that_was_not_confirmed_asks_for_nothing(ana: Any, phone: Phone) -> None:
    client = signed_in()
    client.get("/second-factor/setup/")
    wrong = client.post("/second-factor/setup/", {"code": "000000"})
    assert wrong.status_code == 422
    assert "<svg" in wrong.content.decode()
    assert signed_in().get("/").status_code == 200


def test_each_browser_sets_up_a_secret_of_its_own(ana: Any, phone: Phone) -> None:
    """Who has once known the password cannot know the secret that the person confirms later."""
    before, here = signed_in(), signed_in()
    phone.scan(before)
    noted = phone.key
    phone.scan(before)
    assert phone.key == noted, "a page that is loaded again has the code that was scanned"
    phone.scan(here)
    assert phone.key != noted
    assert here.post("/second-factor/setup/", {"code": phone.code()}).status_code == 200
    assert Authenticator.objects.get()._key == phone.key
    phone.key = noted
    refused = before.post("/second-factor/setup/", {"code": phone.code()})
    assert refused["Location"].startswith("/second-factor/?next=")
    assert enter(signed_in(), phone.code()).status_code == 422


def test_the_secret_of_a_setup_is_not_in_the_session_in_plain_text(ana: Any, phone: Phone) -> None:
    client = signed_in()
    phone.scan(client)
    assert phone.key.hex() not in str(dict(client.session))


def test_a_setup_replaces_what_an_earlier_version_has_stored(ana: Any, phone: Phone) -> None:
    Authenticator.objects.create(user=ana, name="app", confirmed=False, secret="of an earlier version")
    set_up(phone, ana)
    assert Authenticator.of(ana)


def test_optional_asks_only_people_who_set_it_up_and_all_in_the_admin(ana: Any) -> None:
    client = signed_in()
    assert client.get("/").status_code == 200
    assert client.get("/admin/")["Location"] == "/second-factor/setup/?next=/admin/"
    assert client.get("/second-factor/")["Location"] == "/"


def test_required_lets_nobody_in_without_it(ana: Any, phone: Phone, settings: Any) -> None:
    settings.TWO_FACTOR = "required"
    client = signed_in()
    assert client.get("/rooms/lobby")["Location"] == "/second-factor/setup/?next=/rooms/lobby"
    phone.scan(client)
    done = client.post("/second-factor/setup/", {"code": phone.code(), "next": "/rooms/lobby"})
    assert 'href="/rooms/lobby"' in done.content.decode()
    assert client.get("/rooms/lobby").status_code == 200


def test_who_waits_for_the_second_step_can_sign_out(ana: Any, phone: Phone) -> None:
    set_up(phone, ana)
    client = signed_in()
    assert "/logout/" in client.get("/second-factor/").content.decode()
    assert client.post("/logout/")["Location"] == "/login/"


def test_it_is_turned_off_with_a_code_only(ana: Any, phone: Phone) -> None:
    here, _ = set_up(phone, ana)
    assert here.post("/second-factor/setup/", {"remove": "1", "code": "000000"}).status_code == 422
    assert Authenticator.of(ana)
    assert here.post("/second-factor/setup/", {"remove": "1", "code": phone.code()}).status_code == 302
    assert not Authenticator.of(ana)
    assert signed_in().get("/").status_code == 200


def test_a_session_without_its_code_cannot_manage_it(ana: Any, phone: Phone) -> None:
    set_up(phone, ana)
    client = signed_in()
    sent = client.post("/second-factor/setup/", {"remove": "1", "code": phone.code()})
    assert sent["Location"].startswith("/second-factor/?next=")
    assert Authenticator.of(ana)


def test_an_operator_can_reset_it(ana: Any, phone: Phone) -> None:
    set_up(phone, ana)
    out = StringIO()
    call_command("reset_two_factor", "ana", stdout=out)
    assert "is off" in out.getvalue()
    assert signed_in().get("/").status_code == 200
    with pytest.raises(CommandError, match="no user"):
        call_command("reset_two_factor", "nobody")


def test_the_settings_lead_to_it_only_where_it_is_on(ana: Any, settings: Any) -> None:
    client = signed_in()
    assert 'href="/second-factor/setup/"' in client.get("/settings").content.decode()
    settings.ROOT_URLCONF = "bridge.urls"
    settings.MIDDLEWARE = settings.MIDDLEWARE[: -len(MIDDLEWARE)]
    client = signed_in()
    assert "second-factor" not in client.get("/settings").content.decode()


def test_visitors_and_agents_are_not_asked(db: None) -> None:
    assert Client().get("/login/").status_code == 200
    assert Client().get("/api/v1/openapi.json").status_code == 200
    assert Client().get("/second-factor/")["Location"] == "/login/?next=/second-factor/"


def test_every_page_that_needs_no_second_factor_exists() -> None:
    patterns = [*urls.urlpatterns, *urls.PASSWORD_RESET, *urls.SINGLE_SIGN_ON, *urls.TWO_FACTOR]
    names = {pattern.name for pattern in patterns if isinstance(pattern, URLPattern)}
    included = {name for name in OPEN if ":" in name}
    assert OPEN - included <= names
    assert all(reverse(name) for name in included)
