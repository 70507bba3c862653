"""A test can see how many connections are open, and hold up requests at the middleware of the host."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from tests.harness.metrics import TOKEN
from tests.harness.timing import eventually
from tests.portal.hosts.base import *  # noqa: F403
from tests.portal.hosts.base import DATA, MIDDLEWARE

ASK_BRIDGE = {"METRICS_TOKEN": TOKEN}
MIDDLEWARE = [f"{__name__}.wait_at_barrier", *MIDDLEWARE]

# While this folder exists, requests with the header `Wait-At-Barrier` wait; each makes a file in it.
BARRIER = DATA / "barrier"


def wait_at_barrier(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    def middleware(request: HttpRequest) -> HttpResponse:
        if name := request.headers.get("Wait-At-Barrier"):
            (BARRIER / name).touch()
            eventually(lambda: not BARRIER.exists())
        return get_response(request)

    return middleware
