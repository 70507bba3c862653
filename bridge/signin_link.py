"""One-time sign-in links: for the first admin, and for people who have lost their password.

A link works once and for some hours. The site stores a hash of it, never the link. It becomes invalid when
the password of its user changes. Opening it shows a page with one button: a preview in a chat, which opens
links by itself, does not use it up.
"""

import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model, login
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from rooms import access
from rooms.db.readiness import check_write

# Long enough for a link that is made in the evening and opened in the morning.
LIFETIME_HOURS = 12
# 256 random bits: guessing needs no limit.
TOKEN_BYTES = 32
# Sessions store the backend that a person has signed in with.
BACKEND = "bridge.login.Accounts"


def create_link(user: Any) -> str:
    """The path of a new link that signs this user in; one made before PRODUCTION=1 is invalid with it."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    entry = {
        "user": user.pk,
        "auth": user.get_session_auth_hash(),
        "production": settings.PRODUCTION,
    }
    cache.set(_cache_key(token), entry, LIFETIME_HOURS * 3600)
    if cache.get(_cache_key(token)) is None:
        check_write()  # Django's cache hides errors of a database that refuses writes
    return reverse("welcome", args=[token])


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def welcome(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for a click, then sign in and show the first room."""
    request.path = reverse("welcome", args=["…"])  # the log of a failed request must not have the token
    user = _user_of(token)
    if user is None:
        return render(request, "welcome_over.html", status=404)
    if request.method != "POST":
        return render(request, "welcome.html", {"person": user})
    if not cache.delete(_cache_key(token)):  # only one of several requests removes it
        return render(request, "welcome_over.html", status=404)
    login(request, user, backend=BACKEND)
    return redirect(_first_page(user))


def _user_of(token: str) -> Any:
    """The user whom the link signs in, or None."""
    entry = cache.get(_cache_key(token))
    if entry is None or (settings.PRODUCTION and not entry["production"]):
        return None
    user = get_user_model()._default_manager.filter(pk=entry["user"], is_active=True).first()
    if user is None or not constant_time_compare(entry["auth"], user.get_session_auth_hash()):
        return None
    return user


def _first_page(user: Any) -> str:
    """The room, if the user sees only one, as after the first start; else the inbox."""
    rooms = list(access.visible_rooms(user)[:2])
    if len(rooms) == 1:
        return reverse("ask_bridge:room", args=[rooms[0].slug])
    return reverse("ask_bridge:inbox")


def _cache_key(token: str) -> str:
    return f"signin-{salted_hmac('bridge.signin_link', token, algorithm='sha256').hexdigest()}"
