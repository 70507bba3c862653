"""A middleware that lets the view run and refuses afterwards. Works sync and async."""

from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.utils.deprecation import MiddlewareMixin

from tests.portal.hosts.base import *  # noqa: F403
from tests.portal.hosts.base import MIDDLEWARE

MIDDLEWARE = [*MIDDLEWARE, "tests.portal.hosts.deny_after.TeamRequired"]


class TeamRequired(MiddlewareMixin):
    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        team = request.headers.get("X-Team")
        if team == "another":
            return HttpResponseForbidden("Not for your team")
        if team == "suspended":
            # The headers of the view stay.
            response.status_code, response.content = 403, b"Not for your team"
        return response
