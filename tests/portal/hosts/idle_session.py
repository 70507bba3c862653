"""People who did nothing for some seconds are sent to the login. An open page alone is no activity."""

import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from tests.portal.hosts.base import *  # noqa: F403
from tests.portal.hosts.base import INSTALLED_APPS, MIDDLEWARE

INSTALLED_APPS = ["daphne", *INSTALLED_APPS]
MIDDLEWARE = [*MIDDLEWARE, "tests.portal.hosts.idle_session.ActivityRequired"]
ASK_BRIDGE = {"READMIT_SECONDS": 1}


class ActivityRequired:
    idle_seconds = 3

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated and request.path != "/entrance/":
            now = time.time()
            if now - request.session.get("active_at", now) > self.idle_seconds:
                return HttpResponseRedirect("/entrance/")
            if not request.path.endswith("/stream"):
                request.session["active_at"] = now
        return self.get_response(request)
