"""Problems: the one error shape of everything under /api/, RFC 9457 with a stable `code`."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import HttpResponse

from rooms.contract.replies import encode_json
from rooms.contract.rules import RETRY_SECONDS
from rooms.contract.types import FieldError, InvalidPayload
from rooms.db.transactions import Refusal, refusal_of

CONTENT_TYPE = "application/problem+json"

# Python 3.11 has the titles of an older HTTP standard for these.
TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}


class Problem(Exception):
    """An error response: what is wrong, where, and what to do."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        errors: Sequence[FieldError] = (),
        headers: dict[str, str] | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = headers or {}
        self.body: dict[str, Any] = {
            "type": "about:blank",
            "title": TITLES.get(status) or HTTPStatus(status).phrase,
            "status": status,
            "code": code,
            "detail": detail,
        }
        if errors:
            self.body["errors"] = [error.model_dump() for error in errors]
        self.body.update(extra)

    def as_bytes(self) -> bytes:
        return encode_json(self.body)

    def as_response(self) -> HttpResponse:
        return HttpResponse(
            self.as_bytes(), status=self.status, content_type=CONTENT_TYPE, headers=self.headers
        )


def unauthorized() -> Problem:
    return Problem(
        401,
        "unauthorized",
        "This needs a valid agent key: send it as 'Authorization: Bearer abk_…'.",
        headers={"WWW-Authenticate": "Bearer"},
    )


def signed_out() -> Problem:
    return Problem(401, "signed_out", "The session has ended; sign in again.")


def bad_host() -> Problem:
    return Problem(400, "bad_host", "This host name is not allowed; ask an admin to allow it.")


def not_found() -> Problem:
    return Problem(404, "not_found", "There is nothing here for this agent key.")


def missing_scope(scope: str) -> Problem:
    return Problem(
        403,
        "missing_scope",
        f"This key was made without the scope '{scope}', which this call needs; ask a manager of the room "
        "for a key that has it.",
        scope=scope,
    )


def not_own_question() -> Problem:
    return Problem(403, "not_own_question", "Another key asked this question; only that one may do this.")


def too_large(limit: int) -> Problem:
    return Problem(413, "too_large", f"The body may have {limit // 1024} KiB at most.")


def method_not_allowed(allowed: Sequence[str]) -> Problem:
    methods = ", ".join(sorted(allowed))
    return Problem(405, "method_not_allowed", f"This address takes {methods}.", headers={"Allow": methods})


def invalid(problem: InvalidPayload, code: str) -> Problem:
    first = problem.errors[0]
    more = f" (and {len(problem.errors) - 1} more)" if len(problem.errors) > 1 else ""
    return Problem(422, code, f"{first.field}: {first.message}{more}", errors=problem.errors)


def too_many(what: str, seconds: int = 10) -> Problem:
    """A limit is reached. Open connections usually end within ten seconds; a rate limit sets its own time."""
    return Problem(429, "too_many_requests", f"{what}; wait a little.", headers={"Retry-After": str(seconds)})


def shutting_down() -> Problem:
    return Problem(
        503,
        "shutting_down",
        "The bridge is restarting; ask again in a moment. Nothing is lost.",
        headers={"Retry-After": "1"},
    )


def unavailable() -> Problem:
    return Problem(
        503,
        "database_unavailable",
        "The bridge cannot reach its database; try again in a moment. Nothing that was confirmed is lost.",
        headers={"Retry-After": "1"},
    )


def needs_newer_version() -> Problem:
    return Problem(
        503,
        "needs_newer_version",
        "A newer version of the bridge made this, and the process that you reached is an older one, which "
        "changes nothing here; try again in a moment. An admin has to restart the old processes.",
        headers={"Retry-After": str(RETRY_SECONDS)},
    )


# Longer than for a restart: a read-only database or a full disk usually needs an admin.
CANNOT_WRITE_SECONDS = 5

CANNOT_WRITE = {
    Refusal.READ_ONLY: "The bridge's database is read-only, so nothing was saved; an admin has to look.",
    Refusal.FULL: "The disk of the bridge's database is full, so nothing was saved; an admin has to look.",
}


def cannot_write(refusal: Refusal) -> Problem:
    headers = {"Retry-After": str(CANNOT_WRITE_SECONDS)}
    return Problem(503, "cannot_write", f"{CANNOT_WRITE[refusal]} Try again later.", headers=headers)


def of_database(error: BaseException | None) -> Problem | None:
    """The problem for a database that is unreachable or refuses writes; None for every other error."""
    if refusal := refusal_of(error):
        return cannot_write(refusal)
    return unavailable() if isinstance(error, OperationalError | InterfaceError) else None


def server_error() -> Problem:
    return Problem(500, "server_error", "Something went wrong on our side; it has been logged. Try again.")
