"""Errors that Django notices before any view: JSON for agents, a page for people."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views import defaults

from rooms import problems


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Mostly a host name that is not ours."""
    api = reverse("ask_bridge:api-openapi").rpartition("/v1/")[0]
    if request.path_info.startswith(f"{api}/"):
        return problems.bad_host().as_response()
    return defaults.bad_request(request, exception)
