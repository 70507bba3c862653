"""Signing in: a few guesses of a password for one user name from one address, then a long pause.

A guess is counted before the password is checked, so that many at once are no more than one after the other.
What was typed is kept as a hash only: people mistake the field and type their password as their name.
"""

import ipaddress
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.signals import user_logged_in
from django.core.cache import cache
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.crypto import salted_hmac

from bridge import passwords
from rooms.db.compiled import Select
from rooms.db.readiness import check_write

# Enough for a mistyped password; together some 480 guesses a day, for which no sane password falls.
GUESSES = 5
PAUSE_SECONDS = 15 * 60


class TooManyGuesses(Exception):
    """Wrong too often: whether this one is right is not looked at."""


class GuessLimit:
    """An authentication backend that knows nobody; it stands before those that do and stops who guesses."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, **credentials: Any
    ) -> None:
        """Take one guess, or raise TooManyGuesses: the same for names that exist and names that do not."""
        if request is None or username is None:
            return  # a command, not somebody at a form
        take_guess(request, username)


def take_guess(request: HttpRequest, username: str) -> None:
    """Count one more guess, or raise TooManyGuesses."""
    places = _places(request, username)
    for place in places:
        # Only one caller can fill an empty place, in whatever process.
        if cache.add(place, True, PAUSE_SECONDS):
            break
    else:
        if len(cache.get_many(places)) < GUESSES:
            # Nothing was counted: Django's cache is silent about a database that takes no writes.
            check_write()
        raise TooManyGuesses
    if place == places[-1]:
        # The pause begins with the last guess, not with the first.
        for earlier in places:
            cache.touch(earlier, PAUSE_SECONDS)


USER = Select(lambda id: get_user_model()._default_manager.filter(pk=id))


class Accounts(ModelBackend):
    """Django's own backend. Whom a session belongs to is looked up at every click, so that is prepared."""

    def get_user(self, user_id: Any) -> Any:
        user = USER.first(id=user_id)
        return user if user and self.user_can_authenticate(user) else None


@receiver(user_logged_in)
def forget_guesses(request: HttpRequest, user: Any, **signal: Any) -> None:
    """Who knows the password has all guesses again."""
    cache.delete_many(_places(request, user.get_username()))


class GuessLimitPage:
    """Middleware: the page for those who have to wait, from whichever form they came."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if passwords.is_refused(request):
            return _wait_page(request, passwords.RETRY_SECONDS)
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, TooManyGuesses):
            return None
        return _wait_page(request, PAUSE_SECONDS, minutes=PAUSE_SECONDS // 60)


def _wait_page(request: HttpRequest, seconds: int, **context: Any) -> HttpResponse:
    page = render(request, "429.html", context, status=429)
    page["Retry-After"] = str(seconds)
    page["Cache-Control"] = "no-store"
    return page


def client_address(request: HttpRequest) -> str:
    """Where the request came from; with a proxy in front, where it says that it came from."""
    address = request.META.get("REMOTE_ADDR") or ""
    if settings.PRODUCTION:
        # The proxy writes what it saw at the end; anything before that is the client's own invention.
        address = request.META.get("HTTP_X_FORWARDED_FOR", "").rpartition(",")[2].strip() or address
    try:
        version = ipaddress.ip_address(address).version
    except ValueError:
        return address
    # With IPv6 everybody has 2^64 addresses of their own.
    return str(ipaddress.ip_network(f"{address}/64", strict=False)) if version == 6 else address


def _places(request: HttpRequest, username: str) -> list[str]:
    """Where the guesses of this address for this name are kept, in the order in which they fill up."""
    guesser = salted_hmac(
        "bridge.login", f"{client_address(request)} {username}", algorithm="sha256"
    ).hexdigest()
    return [f"guess-{guesser}-{number}" for number in range(GUESSES)]
