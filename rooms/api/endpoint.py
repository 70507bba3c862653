"""Shared by all calls of the JSON API: the key check, parameters, the JSON body, errors as problems."""

import json
import logging
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.utils.translation import override
from django.views.decorators.csrf import csrf_exempt

from rooms import access, lifecycle, serializers, timeline
from rooms.access import rate_limits
from rooms.contract import problems
from rooms.contract.limits import BODY_LIMIT, LONGEST_WAIT_SECONDS, PAGE_LIMIT, PAGE_SIZE
from rooms.contract.problems import Problem
from rooms.contract.types import FieldError, InvalidPayload
from rooms.db import outages
from rooms.db.pool import WIRE_LANGUAGE

logger = logging.getLogger(__name__)

Verb = Callable[..., HttpResponse]


def endpoint(**verbs: Verb) -> Callable[..., HttpResponse]:
    """Return a view for `GET=…, POST=…` that checks the agent key and turns every failure into a problem."""

    @csrf_exempt
    @login_not_required
    @wraps(next(iter(verbs.values())))
    def view(request: HttpRequest, **path: str) -> HttpResponse:
        # The texts of the API are English, regardless of the Accept-Language that a client library sends.
        with override(WIRE_LANGUAGE):
            response = reply(request, **path)
        response.headers["Content-Language"] = WIRE_LANGUAGE
        # Portals may cache whole responses. Older versions of Django understand only `private`.
        response.headers["Cache-Control"] = "private, no-store"
        return response

    # The standalone site skips its middleware for people on these views.
    view.is_for_agents = True  # type: ignore[attr-defined]

    def reply(request: HttpRequest, **path: str) -> HttpResponse:
        try:
            request.get_host()  # refuses a host that is not in ALLOWED_HOSTS
            verb = verbs.get(request.method or "")
            if verb is None:
                raise problems.method_not_allowed(list(verbs))
            return verb(request, access.key_from_header(request.headers.get("Authorization", "")), **path)
        except Exception as error:
            return problem_for(error, request).as_response()

    return view


def problem_for(error: Exception, request: HttpRequest) -> Problem:
    """The problem that describes this failure to the caller."""
    match error:
        case Problem():
            return error
        case access.BadKey():
            return problems.unauthorized()
        case access.MissingScope(scope=scope):
            return problems.missing_scope(scope.value)
        case access.NotOwnQuestion():
            return problems.not_own_question()
        case access.SignedOut():
            return problems.signed_out()
        case DisallowedHost():
            return problems.bad_host()
        case access.Missing() | lifecycle.RoomArchived():
            return problems.not_found()
        case lifecycle.AlreadySettled(question=question):
            return Problem(
                409,
                "question_settled",
                f"This question is {question.status} already.",
                question=serializers.question_object(question, request.build_absolute_uri),
            )
        case lifecycle.NeedsPeople():
            return Problem(
                409,
                "needs_people",
                "Particular people have to decide this question in its room; what was answered elsewhere "
                "does not count.",
            )
        case lifecycle.NotTheirTurn():
            return Problem(
                409,
                "not_their_turn",
                "Other people are asked first or vote on this question; this person may not decide it now.",
            )
        case lifecycle.NeedsNewerVersion():
            return problems.needs_newer_version()
        case lifecycle.AskedDifferently():
            return Problem(
                409,
                "idempotency_conflict",
                "This idempotency key was used for another question; take a new key for a new question.",
            )
        case rate_limits.TooMany():
            message = f"This key has sent {error.limit} {error.what} within a minute"
            return problems.too_many(message, error.seconds)
        case timeline.UnknownEntry():
            return invalid_parameter("after", f"{error} is not an id of this room")
        case _:
            if problem := problems.of_database(error):
                if not outages.report(error):
                    logger.error("%s %s: %s", request.method, request.path, error)
                return problem
            logger.error("%s %s failed", request.method, request.path, exc_info=error)
            return problems.server_error()


def read_json(request: HttpRequest) -> Any:
    """The body as JSON; raises a Problem if it is too large or no JSON."""
    if request.content_type not in ("application/json", "application/problem+json"):
        raise Problem(415, "unsupported_media_type", "Send JSON with 'Content-Type: application/json'.")
    if int(request.headers.get("Content-Length") or 0) > BODY_LIMIT or len(request.body) > BODY_LIMIT:
        raise problems.too_large(BODY_LIMIT)
    try:
        return json.loads(request.body, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise Problem(400, "malformed_json", f"The body is not JSON: {reason}.") from error


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def invalid_parameter(name: str, message: str) -> Problem:
    return problems.invalid(InvalidPayload([FieldError(field=name, message=message)]), "invalid_parameter")


def wait_seconds(request: HttpRequest) -> float:
    """The `wait` parameter within its limits; 0 if it is missing."""
    text = request.GET.get("wait") or "0"
    try:
        seconds = float(text)
    except ValueError:
        raise invalid_parameter("wait", "must be a number of seconds") from None
    # "nan" is a float as well: it fails every comparison and becomes 0.
    return min(seconds, LONGEST_WAIT_SECONDS) if seconds > 0 else 0


def page_limit(request: HttpRequest, size: int = PAGE_SIZE, most: int = PAGE_LIMIT) -> int:
    """The `limit` parameter, at most `most`; `size` by default."""
    text = request.GET.get("limit") or str(size)
    # Python refuses to convert a number of thousands of digits.
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
        raise invalid_parameter("limit", "must be a whole number from 1")
    return min(int(text), most)
