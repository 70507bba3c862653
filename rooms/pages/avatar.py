"""The picture of a person: a redirect to the address that the portal's profiles give."""

from base64 import b64decode

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_safe

from rooms.profiles import avatar_by_token

# A browser asks for a picture once in this time, on all pages together.
CACHED_SECONDS = 600
# One transparent pixel: the initials below it stay visible.
NO_PICTURE = b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")


@login_not_required  # this view is the guard: an image cannot follow a redirect to a login page
@require_safe
def avatar(request: HttpRequest, token: str) -> HttpResponse:
    """For signed-in people, and only the people whom one of their pages shows."""
    address = avatar_by_token(token) if request.user.is_authenticated else None
    if address is None:
        raise Http404("There is no such picture.")
    response = HttpResponseRedirect(address) if address else HttpResponse(NO_PICTURE, "image/gif")
    response["Cache-Control"] = f"private, max-age={CACHED_SECONDS}"
    return response
