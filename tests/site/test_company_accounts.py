"""Which user signs in with an account of the organisation: linked, found by address, or new."""

from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db.models.signals import pre_save
from django.template.loader import render_to_string
from django.test import Client

from bridge import env
from bridge.company_accounts import Refused, link_instead, user_of
from bridge.models import CompanyAccount

ISSUER = "https://login.example.org"


def claims(**changes: Any) -> dict[str, Any]:
    return {"sub": "7", "email": "ana@example.org", "email_verified": True, "name": "Ana Diaz"} | changes


def users() -> Any:
    return get_user_model().objects


def test_the_first_sign_in_makes_a_user_without_a_password(db: None) -> None:
    user = user_of(ISSUER, claims())
    assert (user.username, user.email, user.get_full_name()) == ("ana", "ana@example.org", "Ana Diaz")
    assert not user.has_usable_password()
    assert not user.is_staff
    assert user_of(ISSUER, claims()) == user
    assert users().count() == 1


def test_the_account_decides_and_not_the_name_or_the_address(db: None) -> None:
    user = user_of(ISSUER, claims())
    renamed = user_of(
        ISSUER, claims(email="ana.diaz@example.org", name="Ana Maria Diaz", preferred_username="adiaz")
    )
    assert renamed == user
    assert (renamed.username, renamed.email, renamed.last_name) == (
        "ana",
        "ana.diaz@example.org",
        "Maria Diaz",
    )
    assert user_of("https://other.example.org", claims(email="")) != user
    assert user_of(ISSUER, claims(sub="8", email="")) != user


def test_a_user_with_the_same_confirmed_address_is_linked(db: None) -> None:
    ana = users().create_user("ana", email="Ana@Example.org", password="x")
    assert user_of(ISSUER, claims()) == ana
    assert CompanyAccount.objects.get().user == ana


def test_an_address_that_was_given_to_another_person_signs_in_nobody_else(
    db: None, caplog: pytest.LogCaptureFixture
) -> None:
    user_of(ISSUER, claims())
    with pytest.raises(Refused, match="taken"):
        user_of(ISSUER, claims(sub="8; rm"))
    assert CompanyAccount.objects.count() == 1
    assert "link_company_account ana '8; rm'" in caplog.text
    assert user_of("https://other.example.org", claims(sub="8")).username == "ana", "another provider"


@pytest.mark.parametrize("rights", [{"is_staff": True}, {"is_superuser": True}])
def test_an_address_alone_makes_nobody_an_admin(db: None, rights: dict[str, bool]) -> None:
    admin = users().create_user("ana", email="ana@example.org", password="x", **rights)
    with pytest.raises(Refused, match="admin"):
        user_of(ISSUER, claims())
    assert not CompanyAccount.objects.exists()
    link_instead(admin, ISSUER, "7")
    assert user_of(ISSUER, claims()) == admin


def test_a_deactivated_user_is_not_linked(db: None) -> None:
    users().create_user("ana", email="ana@example.org", is_active=False)
    with pytest.raises(Refused, match="inactive"):
        user_of(ISSUER, claims())
    assert not CompanyAccount.objects.exists()


def test_an_operator_links_an_account_instead_of_the_one_before(db: None, settings: Any) -> None:
    settings.OIDC_ISSUER = f"{ISSUER}/"
    ana = user_of(ISSUER, claims())
    call_command("link_company_account", "ana", "8", stdout=StringIO())
    assert user_of(ISSUER, claims(sub="8")) == ana
    with pytest.raises(Refused, match="taken"):
        user_of(ISSUER, claims())
    with pytest.raises(CommandError, match="no user"):
        call_command("link_company_account", "nobody", "8")
    settings.OIDC_ISSUER = ""
    with pytest.raises(CommandError, match="no single sign-on"):
        call_command("link_company_account", "ana", "8")


@pytest.mark.parametrize("why", ["taken", "admin", "inactive", "unknown", "domain", "stale", "cancelled"])
def test_every_refusal_has_an_explanation_of_its_own(why: str) -> None:
    pages = {
        other: render_to_string("single_sign_on_refused.html", {"why": other})
        for other in ("taken", "admin", "inactive", "unknown", "domain", "stale", "cancelled", "failed")
    }
    assert [other for other, page in pages.items() if page == pages[why]] == [why]


def test_a_name_that_another_new_person_takes_at_the_same_moment_is_no_obstacle(db: None) -> None:
    """The other one's user appears after the free name was chosen and before it is stored."""

    def come_first(instance: Any, **signal: Any) -> None:
        pre_save.disconnect(come_first, sender=get_user_model())
        users().create_user(instance.username)  # and again none, with what it interrupts

    pre_save.connect(come_first, sender=get_user_model())
    assert user_of(ISSUER, claims()).username.startswith("ana")
    assert CompanyAccount.objects.count() == 1


@pytest.mark.parametrize("is_verified", [False, None, "false"])
def test_an_address_that_is_not_confirmed_links_nobody(db: None, is_verified: Any) -> None:
    ana = users().create_user("ana", email="ana@example.org", password="x")
    user = user_of(ISSUER, claims(email_verified=is_verified))
    assert user != ana
    assert user.email == ""


@pytest.mark.parametrize(
    ("told", "is_trusted"),
    [
        ({}, True),
        ({"email_verified": True}, True),
        ({"email_verified": False}, False),
        ({"email_verified": None}, False),
    ],
    ids=str,
)
def test_a_site_can_trust_a_provider_that_does_not_say_what_is_confirmed(
    db: None, settings: Any, told: dict[str, Any], is_trusted: bool
) -> None:
    settings.OIDC_EMAIL_DOMAINS = ["example.org"]
    ana = users().create_user("ana", email="ana@example.org")
    silent = {"sub": "7", "email": "ana@example.org", **told}
    if not told:
        with pytest.raises(Refused, match="domain"):
            user_of(ISSUER, silent)
    settings.OIDC_TRUST_EMAILS = True
    if is_trusted:
        assert user_of(ISSUER, silent) == ana
    else:
        with pytest.raises(Refused, match="domain"):
            user_of(ISSUER, silent)


@pytest.mark.mariadb
@pytest.mark.parametrize(
    "alike", ["mıke@example.org", "mike@examplé.org", "mi\u212ae@example.org", "ｍike@example.org"]
)
def test_an_address_that_only_looks_the_same_links_nobody(db: None, alike: str) -> None:
    """Databases find some of them, and Python's `lower` makes a `k` of the sign for kelvin."""
    mike = users().create_user("mike", email="mike@example.org")
    assert user_of(ISSUER, claims(email=alike)) != mike
    assert user_of(ISSUER, claims(sub="8", email="MIKE@Example.org")) == mike


@pytest.mark.mariadb
def test_accounts_that_differ_in_a_capital_are_two(db: None) -> None:
    assert user_of(ISSUER, claims(sub="aB7")) != user_of(ISSUER, claims(sub="Ab7", email=""))
    assert CompanyAccount.objects.count() == 2


def test_what_a_provider_sends_as_null_is_nothing(db: None) -> None:
    nothing = {"email": None, "name": None, "preferred_username": None}
    people = [user_of(ISSUER, claims(sub=subject, **nothing)) for subject in ("7", "8")]
    assert [user.username for user in people] == ["person", "person-2"]
    assert {(user.email, user.get_full_name()) for user in people} == {("", "")}


def test_two_users_with_the_address_are_not_guessed_at(db: None) -> None:
    for name in ("ana", "admin"):
        users().create_user(name, email="ana@example.org")
    assert user_of(ISSUER, claims()).username == "ana-2"


@pytest.mark.parametrize(
    ("told", "username"),
    [
        ({"preferred_username": "ana.d@example.org"}, "ana.d@example.org"),
        ({"preferred_username": "Ana Diaz!"}, "Ana-Diaz-"),
        ({}, "ANA-3"),
        ({"email_verified": False, "name": ""}, "person"),
        ({"preferred_username": "x" * 400}, "x" * 145),
    ],
)
def test_the_user_name_is_a_free_one(db: None, told: dict[str, Any], username: str) -> None:
    users().create_user("ANA")
    users().create_user("ana-2")
    assert user_of(ISSUER, claims(**told)).username.lower() == username.lower()


def test_a_deactivated_user_is_refused(db: None) -> None:
    user = user_of(ISSUER, claims())
    users().filter(pk=user.pk).update(is_active=False)
    with pytest.raises(Refused, match="inactive"):
        user_of(ISSUER, claims())


def test_new_people_can_be_refused(db: None, settings: Any) -> None:
    settings.OIDC_NEW_USERS = "refuse"
    with pytest.raises(Refused, match="unknown"):
        user_of(ISSUER, claims())
    ana = users().create_user("ana", email="ana@example.org")
    assert user_of(ISSUER, claims()) == ana


@pytest.mark.parametrize(
    "told",
    [
        {"email": "ana@evil.example"},
        {"email": "ana@sub.example.org"},
        {"email_verified": False},
        {"email": ""},
    ],
)
def test_only_confirmed_addresses_of_the_domains_come_in(
    db: None, settings: Any, told: dict[str, Any]
) -> None:
    settings.OIDC_EMAIL_DOMAINS = ["Example.org"]
    assert user_of(ISSUER, claims())
    with pytest.raises(Refused, match="domain"):
        user_of(ISSUER, claims(**told))


def test_who_has_no_password_is_told_so(db: None) -> None:
    client = Client()
    client.force_login(user_of(ISSUER, claims()))
    assert "Your account has no password" in client.get("/password/").content.decode()


@pytest.mark.parametrize(
    ("value", "issuer"),
    [
        ("https://login.example.org", "https://login.example.org"),
        ("https://login.example.org/realms/one/", "https://login.example.org/realms/one/"),
        ("https://login.example.org/.well-known/openid-configuration", "https://login.example.org"),
        ("http://localhost:9400", "http://localhost:9400"),
        ("", ""),
    ],
)
def test_the_issuer_is_an_address(monkeypatch: pytest.MonkeyPatch, value: str, issuer: str) -> None:
    monkeypatch.setenv("OIDC_ISSUER", value)
    assert env.issuer("OIDC_ISSUER") == issuer


@pytest.mark.parametrize(
    "value", ["http://login.example.org", "login.example.org", "https://", "https://x?y=1"]
)
def test_an_address_without_tls_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("OIDC_ISSUER", value)
    with pytest.raises(Exception, match="must be the https:// address"):
        env.issuer("OIDC_ISSUER")


@pytest.mark.parametrize("value", ["0", "-1", "x", "9000"])
def test_hours_are_a_number(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("OIDC_SESSION_HOURS", value)
    with pytest.raises(Exception, match="from 1 to 8760"):
        env.hours("OIDC_SESSION_HOURS", 24)
