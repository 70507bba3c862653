"""What can go wrong between an agent and the bridge. No message ever holds the key."""

from __future__ import annotations

from typing import Any


class ClientError(Exception):
    """Anything below, as one sentence that a person understands."""


class SettingsError(ClientError):
    """Something is missing or wrong in how this machine is set up."""


class Unreachable(ClientError):
    """No reply from the bridge.

    `was_sent` is False when the request certainly did not get there. `is_permanent` is True when trying again
    cannot help, such as a certificate that nobody vouches for.
    """

    def __init__(self, message: str, *, was_sent: bool = True, is_permanent: bool = False) -> None:
        super().__init__(message)
        self.was_sent = was_sent
        self.is_permanent = is_permanent


class ProblemError(ClientError):
    """The bridge, or a proxy before it, said no; `code` is stable, `detail` is for people."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        body: dict[str, Any] | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.body = body or {}
        self.retry_after_seconds = retry_after_seconds
