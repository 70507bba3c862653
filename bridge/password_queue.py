"""Queue for requests that hash a password: one thread, and a limit on how many requests wait for it.

Hashing is slow on purpose, a third of a second. In the threads that serve pages and agents, a hundred forged
logins at once would delay every other request until all of them are checked.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from django.core.handlers.asgi import get_script_prefix
from django.http import HttpRequest
from django.urls import Resolver404, resolve

from rooms.db.pool import ThreadPool

Params = ParamSpec("Params")
Result = TypeVar("Result")

# OpenSSL hashes without the GIL: each further thread would take one more core away from the site.
HASHES_AT_ONCE = 1
# Enough for a team that signs in at the same moment. The last request waits about six seconds.
LONGEST_QUEUE = 16
# Sent as Retry-After: by then most of a full queue is done.
RETRY_SECONDS = 5

# URL names of all forms that check or set a password.
FORMS = frozenset(
    {
        "login",
        "password_change",
        "password_reset",
        "password_reset_confirm",
        "admin_login",
        "admin:login",
        "admin:password_change",
        "admin:auth_user_add",
        "admin:auth_user_password_change",
    }
)
# All of them are below these paths, so that no other request needs a URL lookup here.
PATHS = ("/login/", "/password/", "/admin/")
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

# Key in the ASGI scope of a request that found the queue full.
REFUSED = "bridge.password_queue_full"


class PasswordQueue:
    """Runs functions one at a time; `is_full` if a further one would exceed LONGEST_QUEUE."""

    def __init__(self) -> None:
        self._threads = ThreadPool(HASHES_AT_ONCE, "password")
        self._requests = 0

    @property
    def is_full(self) -> bool:
        return self._requests >= HASHES_AT_ONCE + LONGEST_QUEUE

    async def run(
        self, function: Callable[Params, Result], /, *args: Params.args, **kwargs: Params.kwargs
    ) -> Result:
        """Wait in the queue, then return or raise what the function does."""
        self._requests += 1
        try:
            return await self._threads.run(function, *args, **kwargs)
        finally:
            self._requests -= 1


def hashes_password(scope: dict[str, Any]) -> bool:
    """Whether a request submits one of the forms with a password."""
    path = scope["path"].removeprefix(get_script_prefix(scope))
    if scope["method"] in SAFE_METHODS or not path.startswith(PATHS):
        return False
    try:
        match = resolve(path)
    except Resolver404:
        return False
    return match.view_name in FORMS


def is_refused(request: HttpRequest) -> bool:
    """Whether the queue was full for this request."""
    return REFUSED in getattr(request, "scope", ())
