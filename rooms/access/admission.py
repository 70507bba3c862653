"""Admission of requests that stay open, such as the stream of a page, by the host's own application.

`rooms.live` first sends such a request through the host, with all of its middleware. The view at its address
calls `Admission.admit` with what the open connection needs. Every other response is a refusal, and goes to
the client as it is. Under WSGI no request can stay open: there is no admission, and views reply at once.
"""

import secrets
from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest, HttpResponse

# The key of the ASGI scope.
SCOPE_KEY = "ask_bridge.admission"
HEADER = "X-Ask-Bridge-Admission"
STATUS = 204


class Admission:
    """One request to stay open, and what its view grants."""

    def __init__(self) -> None:
        # Middleware may replace the view's response, or have cached that of another request.
        self._token = secrets.token_hex(8)
        self._granted: Any = None

    def admit(self, granted: Any) -> HttpResponse:
        """The view's response: the request may stay open."""
        self._granted = granted
        return HttpResponse(status=STATUS, headers={HEADER: self._token, "Cache-Control": "no-store"})

    def granted_by(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> Any:
        """What the view granted, if this is the beginning of its own response; else None.

        Middleware may also make a refusal of that response and leave its headers: then the status differs.
        """
        sent = [value for name, value in headers if name.lower() == HEADER.lower().encode()]
        return self._granted if status == STATUS and sent == [self._token.encode()] else None


def admission_of(request: HttpRequest) -> Admission | None:
    """The admission that this request asks for; None for an ordinary request."""
    scope: dict[str, Any] = getattr(request, "scope", {})
    return scope.get(SCOPE_KEY)
