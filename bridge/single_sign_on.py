"""Single sign-on with OpenID Connect. Authlib speaks the protocol: state, nonce, PKCE, ID token.

The two views exist only with OIDC_ISSUER. What the provider has confirmed becomes an ordinary session.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.signals import user_logged_in
from django.core.exceptions import ImproperlyConfigured
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from bridge.company_accounts import Refused, user_of
from bridge.second_factor import BY_PROVIDER
from bridge.signin_link import BACKEND

logger = logging.getLogger(__name__)

# Key in the session of a sign-in that has begun: where the person wanted to go.
NEXT = "bridge.single_sign_on_next"
# Of the client at Authlib, which begins the names of its keys in the session with it.
CLIENT = "company"
STATE_PREFIX = f"_state_{CLIENT}_"
# Of a sign-in that is not completed: its session has no use afterwards.
UNFINISHED_SECONDS = 15 * 60
# Of each request to the provider. A thread of the site waits for it.
TIMEOUT_SECONDS = 10
# A provider that hangs must not take all threads of the site, and one that works replies within milliseconds.
AT_ONCE = 4
TURN_SECONDS = 1
DISCOVERY = "/.well-known/openid-configuration"


@cache
def _provider() -> Any:
    """Authlib's client, which reads the provider's addresses and keys when it needs them."""
    from authlib.integrations.django_client import OAuth  # only sites with single sign-on pay for the import

    return OAuth().register(
        CLIENT,
        client_id=settings.OIDC_CLIENT_ID,
        client_secret=settings.OIDC_CLIENT_SECRET,
        server_metadata_url=f"{settings.OIDC_ISSUER.rstrip('/')}{DISCOVERY}",
        client_kwargs={
            "scope": settings.OIDC_SCOPES,
            "code_challenge_method": "S256",
            "default_timeout": TIMEOUT_SECONDS,
        },
    )


_turns = threading.BoundedSemaphore(AT_ONCE)


@contextmanager
def _talking() -> Iterator[None]:
    """Wait for a turn to talk to the provider, but not long."""
    if not _turns.acquire(timeout=TURN_SECONDS):
        raise TimeoutError("other sign-ins are still waiting for the provider")
    try:
        yield
    finally:
        _turns.release()


@require_safe
@never_cache
def single_sign_on(request: HttpRequest) -> HttpResponse:
    """Send the browser to the provider."""
    if request.user.is_authenticated:
        return HttpResponseRedirect(_wanted(request, request.GET.get("next", "")))
    try:
        with _talking():
            response: HttpResponse = _provider().authorize_redirect(
                request, request.build_absolute_uri(reverse("single_sign_on_callback"))
            )
    except Exception as error:
        return _failed(request, error)
    request.session[NEXT] = request.GET.get("next", "")
    request.session.set_expiry(UNFINISHED_SECONDS)
    return response


@require_safe
@never_cache
def callback(request: HttpRequest) -> HttpResponse:
    """Check what the provider says, and sign the person in."""
    if request.GET.get("error"):
        return _refused(request, "cancelled")
    if not request.GET.get("code") or not request.GET.get("state"):
        return _refused(request, "stale")
    try:
        with _talking():
            issuer, claims = _confirmed_claims(request)
    except Exception as error:
        from authlib.integrations.base_client import MismatchingStateError

        if isinstance(error, MismatchingStateError):
            return _refused(request, "stale")  # another tab, an old page, or a forged address
        return _failed(request, error)
    try:
        user = user_of(issuer, claims)
    except Refused as refused:
        return _refused(request, refused.why)
    wanted = _wanted(request, request.session.get(NEXT, ""))
    login(request, user, backend=BACKEND)
    request.session[BY_PROVIDER] = isinstance(methods := claims.get("amr"), list) and "mfa" in methods
    # A moment, not seconds, which would begin anew with each change of the session.
    request.session.set_expiry(timezone.now() + timedelta(hours=settings.OIDC_SESSION_HOURS))
    return HttpResponseRedirect(wanted)


def _confirmed_claims(request: HttpRequest) -> tuple[str, dict[str, Any]]:
    """Issuer and claims of the ID token, which is checked; the userinfo has what it lacks."""
    provider = _provider()
    metadata = provider.load_server_metadata()
    issuer = metadata.get("issuer", "")
    if issuer.rstrip("/") != settings.OIDC_ISSUER.rstrip("/"):
        raise ImproperlyConfigured(f"The provider at OIDC_ISSUER calls itself {issuer}: set that.")
    # Authlib would keep those that it has read first, also when the provider has withdrawn them.
    provider.fetch_jwk_set(force=True)
    token = provider.authorize_access_token(
        request,
        claims_options={
            "iss": {"essential": True, "values": [issuer]},
            "aud": {"essential": True, "values": [settings.OIDC_CLIENT_ID]},
        },
    )
    if "userinfo" not in token:
        raise ValueError("the provider sent no ID token")
    claims = dict(token["userinfo"])
    if "email" not in claims and metadata.get("userinfo_endpoint"):
        told = provider.userinfo(token=token)
        if told.get("sub") != claims["sub"]:
            raise ValueError("the userinfo is about another person than the ID token")
        claims = {**told, **claims}
    return issuer.rstrip("/"), claims


@receiver(user_logged_in)
def _forget_begun(request: HttpRequest, **signal: Any) -> None:
    """Forget a sign-in that has begun: it is complete or refused, or the person has signed in another way."""
    session = request.session
    if session.pop(NEXT, None) is None:
        return  # the limit of time, if there is one, is that of a complete sign-in
    session.set_expiry(None)
    for key in filter(lambda name: name.startswith(STATE_PREFIX), list(session.keys())):
        del session[key]


def _wanted(request: HttpRequest, address: str) -> str:
    if url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure()):
        return address
    return reverse("ask_bridge:inbox")


def _refused(request: HttpRequest, why: str) -> HttpResponse:
    _forget_begun(request)
    return render(request, "single_sign_on_refused.html", {"why": why}, status=403)


def _failed(request: HttpRequest, error: Exception) -> HttpResponse:
    """The provider cannot be reached or says what does not hold: the page says so, the log has the reason."""
    _forget_begun(request)
    logger.error("Single sign-on with %s failed: %s: %s", settings.OIDC_ISSUER, type(error).__name__, error)
    return render(request, "single_sign_on_refused.html", {"why": "failed"}, status=502)
