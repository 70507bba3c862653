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
from rooms.live import match_of


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


class KnownPaths(CommonMiddleware):
    """Django's own, but what was found on its way in is not looked up once more."""

    def should_redirect_with_slash(self, request: HttpRequest) -> bool:
        return match_of(request) is None and super().should_redirect_with_slash(request)


class GuessLimitPage:
    """Middleware: the page for those who have to wait, from whichever form they came."""

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
