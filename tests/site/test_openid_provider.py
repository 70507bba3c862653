"""Single sign-on with a real provider: what its ID token has to prove, and how long a session lasts."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from bridge import single_sign_on, urls
from bridge.models import CompanyAccount
from bridge.signin_link import create_link
from tests.harness.openid_provider import OpenIDProvider, openid_provider

urlpatterns = [*urls.SINGLE_SIGN_ON, *urls.TWO_FACTOR, *urls.urlpatterns]

PASSWORD = "correct horse battery staple"


@pytest.fixture(scope="module")
def shared_provider() -> Iterator[OpenIDProvider]:
    with openid_provider() as provider:
        yield provider


@pytest.fixture(autouse=True)
def provider(shared_provider: OpenIDProvider, settings: Any, db: None) -> Iterator[OpenIDProvider]:
    settings.ROOT_URLCONF = __name__
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    for name, value in shared_provider.variables.items():
        setattr(settings, name, value)
    single_sign_on._provider.cache_clear()
    yield shared_provider
    single_sign_on._provider.cache_clear()


def begin(client: Client, next_page: str = "") -> str:
    """The address at the provider."""
    begun = client.get(f"/sso/?next={next_page}")
    assert begun.status_code == 302
    return str(begun["Location"])


def come_back(provider: OpenIDProvider, subject: str, **claims: Any) -> tuple[Client, Any]:
    """A browser in which this person has signed in at the provider, and what the site replies."""
    provider.know(subject, name="Ana Diaz", email=f"{subject}@example.org", email_verified=True, **claims)
    client = Client()
    return client, client.get(provider.approve(begin(client), subject))


def session_of(client: Client) -> Session:
    return Session.objects.get(pk=client.cookies["sessionid"].value)


def is_signed_in(client: Client) -> bool:
    return client.get("/").status_code == 200


def sign_in_with_password(client: Client) -> None:
    assert client.post("/login/", {"username": "ben", "password": PASSWORD}).status_code == 302


# ---- the ID token ----------------------------------------------------------------------------------------


def test_a_token_that_proves_everything_signs_in(provider: OpenIDProvider) -> None:
    client, done = come_back(provider, "ana")
    assert done["Location"] == "/"
    assert is_signed_in(client)
    assert CompanyAccount.objects.get().issuer == provider.issuer


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"iss": "https://evil.example"}, "iss"),
        ({"aud": "another-client"}, "aud"),
        ({"aud": ["another-client"]}, "aud"),
        ({"azp": "another-client"}, "azp"),
        ({"nonce": "of another sign-in"}, "nonce"),
        ({"exp": 1}, "expired"),
        ({"at_hash": "of another token"}, "at_hash"),
        ({"forge": "payload"}, "BadSignature"),
        ({"forge": "unsigned"}, "none"),
        ({"forge": "symmetric"}, "HS256"),
    ],
    ids=str,
)
def test_a_token_that_does_not_hold_signs_nobody_in(
    provider: OpenIDProvider, claims: dict[str, Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    client, failed = come_back(provider, "ana", **claims)
    assert failed.status_code == 502
    assert "gave a wrong reply" in failed.content.decode()
    assert not is_signed_in(client)
    assert not get_user_model().objects.exists()
    assert reason in caplog.text


def test_a_new_key_of_the_provider_replaces_the_old_one(provider: OpenIDProvider) -> None:
    come_back(provider, "ana")
    provider.end()
    provider.start()
    client, _ = come_back(provider, "ana")
    assert is_signed_in(client)


# ---- the session -----------------------------------------------------------------------------------------


def test_it_ends_after_its_hours_however_often_it_is_used(provider: OpenIDProvider, settings: Any) -> None:
    settings.OIDC_SESSION_HOURS = 3
    client, _ = come_back(provider, "ana")
    end = session_of(client).expire_date
    assert abs(end - timezone.now() - timedelta(hours=3)) < timedelta(minutes=1)
    session = client.session
    session["used"] = True
    session.save()
    assert session_of(client).expire_date == end
    Session.objects.update(expire_date=timezone.now())
    assert not is_signed_in(client)


@pytest.mark.parametrize("way", ["password", "link"])
def test_one_that_was_begun_leaves_nothing_in_the_session_of_another_way(
    provider: OpenIDProvider, way: str
) -> None:
    ben = get_user_model().objects.create_user("ben", password=PASSWORD)
    client = Client()
    begin(client, "/settings")
    if way == "password":
        sign_in_with_password(client)
    else:
        client.post(create_link(ben))
    assert is_signed_in(client)
    assert session_of(client).expire_date > timezone.now() + timedelta(days=13)
    assert {key for key in dict(client.session) if not key.startswith("_auth_")} == set()


def test_one_that_was_refused_leaves_nothing(provider: OpenIDProvider) -> None:
    get_user_model().objects.create_user("ben", password=PASSWORD)
    client = Client()
    assert client.get(provider.deny(begin(client, "/settings"))).status_code == 403
    assert dict(client.session) == {}
    sign_in_with_password(client)
    assert session_of(client).expire_date > timezone.now() + timedelta(days=13)


def test_one_that_is_completed_leaves_only_its_end(provider: OpenIDProvider) -> None:
    client, _ = come_back(provider, "ana")
    left = {key for key in dict(client.session) if not key.startswith("_auth_")}
    assert left == {"_session_expiry", single_sign_on.BY_PROVIDER}


def test_a_reply_that_is_sent_again_signs_nobody_in_and_nobody_out(provider: OpenIDProvider) -> None:
    provider.know("ana", email="ana@example.org", email_verified=True)
    client = Client()
    back = provider.approve(begin(client), "ana")
    assert client.get(back).status_code == 302
    end = session_of(client).expire_date
    assert client.get(back).status_code == 403
    assert is_signed_in(client)
    assert session_of(client).expire_date == end
    client.post("/logout/")
    assert client.get(back).status_code == 403
    assert not is_signed_in(client)


# ---- the second factor -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claims", "is_enough"),
    [({"amr": ["pwd", "mfa"]}, True), ({"amr": ["pwd"]}, False), ({}, False)],
    ids=str,
)
def test_several_factors_at_the_provider_are_enough(
    provider: OpenIDProvider, settings: Any, claims: dict[str, Any], is_enough: bool
) -> None:
    settings.TWO_FACTOR = "required"
    settings.MIDDLEWARE = [
        *settings.MIDDLEWARE,
        "django_otp.middleware.OTPMiddleware",
        "bridge.second_factor.SecondFactorMiddleware",
    ]
    client, _ = come_back(provider, "ana", **claims)
    page = client.get("/settings")
    if is_enough:
        assert page.status_code == 200
    else:
        assert page["Location"] == "/second-factor/setup/?next=/settings"


def test_its_factors_count_for_its_own_session_only(provider: OpenIDProvider, settings: Any) -> None:
    client, _ = come_back(provider, "ana", amr=["mfa"])
    assert client.session[single_sign_on.BY_PROVIDER] is True
    ben = get_user_model().objects.create_user("ben")
    client.post(create_link(ben))
    assert single_sign_on.BY_PROVIDER not in client.session
