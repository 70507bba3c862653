"""Middleware of the site: agent requests, missing slashes, login limits."""

from collections.abc import Callable
from typing import Any

from csp.utils import build_policy
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse
from django.middleware.common import CommonMiddleware
from django.shortcuts import render

from bridge import password_queue
from bridge.login import PAUSE_SECONDS, TooManyGuesses
from rooms.live.routing import match_of


class AgentRequestMiddleware:
    """Calls API views directly, without the middleware below it.

    Agents authenticate with a key: their requests need no session, CSRF token, language or messages.
    """

    def __init__(self, get_response: Callable[[ASGIRequest], HttpResponse]) -> None:
        self.get_response = get_response
        # The policy is the same for all replies. CSPMiddleware would build it again for each.
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


class AppendSlashMiddleware(CommonMiddleware):
    """Django's CommonMiddleware, without a second URL lookup for paths that `rooms.live` has resolved."""

    def should_redirect_with_slash(self, request: HttpRequest) -> bool:
        return match_of(request) is None and super().should_redirect_with_slash(request)


class GuessLimitMiddleware:
    """Replies with the 429 page after too many wrong passwords, or when the password queue is full."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if password_queue.is_refused(request):
            return _wait_page(request, password_queue.RETRY_SECONDS)
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
