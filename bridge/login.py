"""Authentication backends and the limit of guesses.

The limit of passwords is per user name and client address: a few guesses, then a long pause. A guess is
counted before the password is checked, so parallel requests get no more guesses than sequential ones. User
names are stored only as hashes, because people type their password into the wrong field. Codes of a second
factor and requests for a new password are limited in the same way.
"""

import ipaddress
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.signals import user_logged_in
from django.core.cache import cache
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from rooms.db.compiled import Select
from rooms.db.readiness import check_write

# Enough for a mistyped password. It allows about 480 guesses a day, too few to find any reasonable password.
GUESSES = 5
PAUSE_SECONDS = 15 * 60


class TooManyGuesses(Exception):
    """The limit is reached; nothing was checked. `of` names what was guessed, for the page that says so."""

    of = "password"


class TooManyCodes(TooManyGuesses):
    of = "code"


class TooManyResets(TooManyGuesses):
    of = "reset"


class GuessLimitBackend:
    """Authentication backend that only counts guesses. It comes first and never returns a user."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, **credentials: Any
    ) -> None:
        """Count one guess or raise TooManyGuesses, the same for known and unknown user names."""
        if request is None or username is None:
            return  # called by a management command, not by a form
        count_guess(request, username)


def count_guess(request: HttpRequest, username: str) -> None:
    """Count one more guess of a password, or raise TooManyGuesses."""
    count_attempt(_password_of(request, username), TooManyGuesses)


def count_attempt(subject: str, refusal: type[TooManyGuesses]) -> None:
    """Count one more attempt at this subject, or raise the refusal."""
    keys = _cache_keys(subject)
    for key in keys:
        # `add` succeeds for one caller only, across all processes.
        if cache.add(key, True, PAUSE_SECONDS):
            break
    else:
        if len(cache.get_many(keys)) < GUESSES:
            # Nothing was counted: Django's cache hides errors of a database that refuses writes.
            check_write()
        raise refusal
    if key == keys[-1]:
        # The pause begins with the last guess, not with the first.
        for used in keys:
            cache.touch(used, PAUSE_SECONDS)


USER = Select(lambda id: get_user_model()._default_manager.filter(pk=id))


class Accounts(ModelBackend):
    """Django's backend with a compiled statement for the user of a session, which every request loads.

    It takes 0.3 ms less of the CPU than the ORM: a sixth of a click, 7 % of the way to the agent.
    Sessions store the path of this class: renaming it would sign all users out.
    """

    def authenticate(
        self, request: HttpRequest | None, username: Any = None, password: Any = None, **credentials: Any
    ) -> Any:
        """Only by exactly the user name, for which guesses are counted: MariaDB finds `ana` by `ÁNA`, too."""
        user = super().authenticate(request, username, password, **credentials)
        return user if user and user.get_username() == username else None

    def get_user(self, user_id: Any) -> Any:
        user = USER.first(id=user_id)
        return user if user and self.user_can_authenticate(user) else None


@receiver(user_logged_in)
def reset_guesses(request: HttpRequest, user: Any, **signal: Any) -> None:
    """Forget the guesses of a user who has entered the right password."""
    forget_attempts(_password_of(request, user.get_username()))


def forget_attempts(subject: str) -> None:
    """Begin to count anew, after a success."""
    cache.delete_many(_cache_keys(subject))


def client_address(request: HttpRequest) -> str:
    """The address of the client, in production as the proxy reports it; for IPv6 its /64 network."""
    address = request.META.get("REMOTE_ADDR") or ""
    if settings.PRODUCTION:
        # The proxy appends the address that it saw. Clients can forge all entries before that.
        address = request.META.get("HTTP_X_FORWARDED_FOR", "").rpartition(",")[2].strip() or address
    try:
        version = ipaddress.ip_address(address).version
    except ValueError:
        return address
    # An IPv6 client usually has a whole /64 network, 2^64 addresses.
    return str(ipaddress.ip_network(f"{address}/64", strict=False)) if version == 6 else address


def _password_of(request: HttpRequest, username: str) -> str:
    return f"{client_address(request)} {username}"


def _cache_keys(subject: str) -> list[str]:
    """One cache key for each attempt at this subject, in the order of use."""
    digest = salted_hmac("bridge.login", subject, algorithm="sha256").hexdigest()
    return [f"guess-{digest}-{number}" for number in range(GUESSES)]
