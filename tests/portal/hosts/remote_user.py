"""The proxy names the person in a header of every request: no login page, no session."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from tests.portal.hosts.base import *  # noqa: F403
from tests.portal.hosts.base import MIDDLEWARE

MIDDLEWARE = [*MIDDLEWARE, "tests.portal.hosts.remote_user.PersonOfHeader"]


class PersonOfHeader:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        from django.contrib.auth.models import AnonymousUser, User

        name = request.headers.get("X-Remote-User")
        request.user = User.objects.get(username=name) if name else AnonymousUser()
        return self.get_response(request)
