"""The lane for requests that hash a password: one thread of its own behind a short queue.

Hashing takes a third of a second on purpose. In the threads that serve pages and agents, a hundred made-up
logins at once would make every other request wait until all of them are checked.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from django.core.handlers.asgi import get_script_prefix
from django.http import HttpRequest
from django.urls import Resolver404, resolve

from rooms.db.pool import ThreadPool
from rooms.live.routing import MATCH

Params = ParamSpec("Params")
Result = TypeVar("Result")

# OpenSSL hashes without the GIL: each further thread would take one more core away from the site.
HASHES_AT_ONCE = 1
# A team that signs in at the same moment; the last one waits for some six seconds.
LONGEST_QUEUE = 16
# By then most of a full queue is done.
RETRY_SECONDS = 5

# Every form of the site that checks or sets a password.
FORMS = frozenset(
    {
        "login",
        "password_change",
        "admin:login",
        "admin:password_change",
        "admin:auth_user_add",
        "admin:auth_user_password_change",
    }
)
READING = frozenset({"GET", "HEAD", "OPTIONS"})

# Set in the scope of a request for which the queue has no place.
REFUSED = "bridge.password_lane_full"


class PasswordLane:
    """Runs functions one at a time, and says when as many wait as may."""

    def __init__(self) -> None:
        self._threads = ThreadPool(HASHES_AT_ONCE, "password")
        self._requests = 0

    @property
    def is_full(self) -> bool:
        return self._requests >= HASHES_AT_ONCE + LONGEST_QUEUE

    async def run(
        self, function: Callable[Params, Result], /, *args: Params.args, **kwargs: Params.kwargs
    ) -> Result:
        """What the function returns or raises, when its turn has come."""
        self._requests += 1
        try:
            return await self._threads.run(function, *args, **kwargs)
        finally:
            self._requests -= 1


def hashes_password(scope: dict[str, Any]) -> bool:
    """Whether a request sends one of the forms with a password."""
    if MATCH in scope or scope["method"] in READING:  # what was found for it is a view of `rooms`
        return False
    try:
        match = resolve(scope["path"].removeprefix(get_script_prefix(scope)))
    except Resolver404:
        return False
    return match.view_name in FORMS


def is_refused(request: HttpRequest) -> bool:
    """Whether there was no place in the queue for this request."""
    return REFUSED in getattr(request, "scope", ())
