"""Middleware: paths that lack their last slash."""

from django.http import HttpRequest
from django.middleware.common import CommonMiddleware

from rooms.live.routing import match_of


class KnownPaths(CommonMiddleware):
    """Django's own, but what was found on its way in is not looked up once more."""

    def should_redirect_with_slash(self, request: HttpRequest) -> bool:
        return match_of(request) is None and super().should_redirect_with_slash(request)
