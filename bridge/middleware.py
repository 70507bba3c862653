"""Middleware of the site: agent requests, login limits."""

from collections.abc import Callable
from typing import Any

from csp.utils import build_policy
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import resolve

from bridge import password_queue
from bridge.login import PAUSE_SECONDS, TooManyGuesses

# Every path below it has a view: `rooms.urls` is included at the root of the site.
API_PATH = "/api/"


class AgentRequestMiddleware:
    """Calls API views directly, without the middleware below it.

    Agents authenticate with a key: their requests need no session, CSRF token, language or messages.
    """

    def __init__(self, get_response: Callable[[ASGIRequest], HttpResponse]) -> None:
        self.get_response = get_response
        # The policy is the same for all replies. CSPMiddleware would build it again for each.
        self._policy = build_policy()

    def __call__(self, request: ASGIRequest) -> HttpResponse:
        if not request.path_info.startswith(API_PATH):
            return self.get_response(request)
        match = resolve(request.path_info)
        if not getattr(match.func, "is_for_agents", False):
            return self.get_response(request)
        request.resolver_match = match
        response: HttpResponse = match.func(request, **match.kwargs)
        response.headers["Content-Security-Policy"] = self._policy
        response.headers.setdefault("Content-Length", str(len(response.content)))
        return response


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
        return _wait_page(request, PAUSE_SECONDS, minutes=PAUSE_SECONDS // 60, of=exception.of)


def _wait_page(request: HttpRequest, seconds: int, **context: Any) -> HttpResponse:
    page = render(request, "429.html", context, status=429)
    page["Retry-After"] = str(seconds)
    page["Cache-Control"] = "no-store"
    return page
