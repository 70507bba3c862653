"""A middleware that lets the view run, and then replaces its response by a refusal. Works sync and async."""

from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.utils.deprecation import MiddlewareMixin

from tests.portal.hosts.base import *  # noqa: F403
from tests.portal.hosts.base import MIDDLEWARE

MIDDLEWARE = [*MIDDLEWARE, "tests.portal.hosts.deny_after.TeamRequired"]


class TeamRequired(MiddlewareMixin):
    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if request.headers.get("X-Team") == "another":
            return HttpResponseForbidden("Not for your team")
        return response
