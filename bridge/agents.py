"""Middleware: agents carry a key, so their calls need no session, CSRF token, language or message."""

from collections.abc import Callable

from csp.utils import build_policy
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse

from rooms.live.routing import match_of


class AgentCalls:
    """Hands calls of the API to their views, past all middleware for people that follows."""

    def __init__(self, get_response: Callable[[ASGIRequest], HttpResponse]) -> None:
        self.get_response = get_response
        # The same for every reply: the middleware for pages puts it together anew each time.
        self._policy = build_policy()

    def __call__(self, request: ASGIRequest) -> HttpResponse:
        match = match_of(request)
        if match is None or not getattr(match.func, "is_for_agents", False):
            return self.get_response(request)
        request.resolver_match = match
        response: HttpResponse = match.func(request, **match.kwargs)
        response.headers["Content-Security-Policy"] = self._policy
        response.headers.setdefault("Content-Length", str(len(response.content)))
        return response
