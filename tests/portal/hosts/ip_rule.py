"""Only certain client addresses are let in. Sync middleware, the first of all."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseForbidden

from tests.portal.hosts.base import *  # noqa: F403
from tests.portal.hosts.base import MIDDLEWARE

MIDDLEWARE = ["tests.portal.hosts.ip_rule.KnownAddressRequired", *MIDDLEWARE]


class KnownAddressRequired:
    known = ("127.0.0.1",)

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.META["REMOTE_ADDR"] not in self.known:
            return HttpResponseForbidden("Not from your address")
        return self.get_response(request)
