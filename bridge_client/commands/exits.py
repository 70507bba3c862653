"""Exit codes of `ask-bridge`, for scripts."""

from __future__ import annotations

from bridge_client.errors import ClientError, ProblemError, SettingsError, Unreachable

OK = 0  # answered, or done
FAILED = 1
INVALID = 2  # wrong usage, wrong settings, or a question that the bridge refuses
DECLINED = 3  # a person declined or asked back
EXPIRED = 4  # not answered in time
UNREACHABLE = 5
WITHDRAWN = 6

LEGEND = """exit codes:
  0 answered (or done)   1 failed        2 wrong usage or refused   3 declined
  4 not answered in time 5 unreachable   6 withdrawn"""


def code_of(error: ClientError) -> int:
    """The exit code for this error."""
    if isinstance(error, Unreachable):
        return UNREACHABLE
    if isinstance(error, SettingsError):
        return INVALID
    if isinstance(error, ProblemError):
        if error.is_temporary:
            return UNREACHABLE
        if error.status in (400, 413, 422) or error.code == "idempotency_conflict":
            return INVALID
    return FAILED
