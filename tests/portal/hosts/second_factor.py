"""django-otp: signed-in people get nothing before their second factor. Sync middleware."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseForbidden

from tests.portal.hosts.base import *  # noqa: F403
from tests.portal.hosts.base import INSTALLED_APPS, MIDDLEWARE

INSTALLED_APPS = [*INSTALLED_APPS, "django_otp", "django_otp.plugins.otp_static"]
MIDDLEWARE = [
    *MIDDLEWARE,
    "django_otp.middleware.OTPMiddleware",
    "tests.portal.hosts.second_factor.SecondFactorRequired",
]
ROOT_URLCONF = "tests.portal.hosts.second_factor_urls"


class SecondFactorRequired:
    """403 for signed-in people without the second factor, except on login pages and for agents."""

    free = ("/entrance/", "/second-factor/", "/ask/api/")

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        is_refused = request.user.is_authenticated and not request.user.is_verified()
        if is_refused and not request.path.startswith(self.free):
            return HttpResponseForbidden("Your second factor is missing")
        return self.get_response(request)
