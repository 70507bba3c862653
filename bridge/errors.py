"""Errors outside of any view: JSON for agents, a page for people."""

import sys

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.views import defaults

from rooms.contract import problems
from rooms.db.transactions import refusal_of


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Mostly a host name that is not ours."""
    api = reverse("ask_bridge:api-openapi").rpartition("/v1/")[0]
    if request.path_info.startswith(f"{api}/"):
        return problems.bad_host().as_response()
    return defaults.bad_request(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """A page that says what is wrong with the database, so that people, proxies and scripts try again."""
    error = sys.exc_info()[1]
    if problem := problems.of_database(error):
        # Without the request: who is signed in is in the database, too.
        page = render_to_string("503.html", {"refusal": refusal_of(error)})
        return HttpResponse(page, status=503, headers=problem.headers)
    return defaults.server_error(request)
