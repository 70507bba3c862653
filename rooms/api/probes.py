"""API calls without a key: the OpenAPI document, unknown addresses, health and readiness."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from rooms.api import openapi
from rooms.contract import problems
from rooms.contract.replies import JsonReply
from rooms.db import readiness


@csrf_exempt
@login_not_required
def openapi_document(request: HttpRequest) -> HttpResponse:
    if request.method not in ("GET", "HEAD"):
        return problems.method_not_allowed(["GET"]).as_response()
    return JsonReply(openapi.document())


@csrf_exempt
@login_not_required
def not_found(request: HttpRequest, **path: str) -> HttpResponse:
    return problems.not_found().as_response()


@csrf_exempt
@login_not_required
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The process is up."""
    return JsonReply({"status": "ok"})


@csrf_exempt
@login_not_required
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """The database is reachable and takes writes; `rooms.live` answers for the channel layer as well."""
    states = {"database": readiness.database_state()} | readiness.version_state()
    return JsonReply(states, status=200 if set(states.values()) == {"ok"} else 503)
