"""While a certain file exists, every request gets a maintenance page. Async middleware."""

from collections.abc import Awaitable, Callable

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import async_only_middleware

from tests.portal.hosts.base import *  # noqa: F403
from tests.portal.hosts.base import DATA, MIDDLEWARE

MIDDLEWARE = ["tests.portal.hosts.maintenance.maintenance", *MIDDLEWARE]
# Open streams notice it as soon as possible.
ASK_BRIDGE = {"READMIT_SECONDS": 1}


@async_only_middleware
def maintenance(
    get_response: Callable[[HttpRequest], Awaitable[HttpResponse]],
) -> Callable[[HttpRequest], Awaitable[HttpResponse]]:
    async def middleware(request: HttpRequest) -> HttpResponse:
        with (DATA / "requests").open("a") as seen:
            seen.write(f"{request.path}\n")
        if (DATA / "closed").exists():
            return HttpResponse("Back at noon", status=503, headers={"Retry-After": "120"})
        return await get_response(request)

    return middleware
