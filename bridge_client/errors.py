"""Exceptions of the client. No message ever holds the key."""

from __future__ import annotations

from typing import Any

# Only a server that is no bridge replies with these: the method or the HTTP version is unknown to it.
NEVER_A_BRIDGE = (501, 505)


class ClientError(Exception):
    """The base of all exceptions here; its message is one sentence for a person."""

    @property
    def is_temporary(self) -> bool:
        """Whether the same call may succeed a little later."""
        return False


class SettingsError(ClientError):
    """A setting of this machine is missing or wrong."""


class Unreachable(ClientError):
    """No reply from the bridge.

    `was_sent` is False if the request certainly did not arrive. `is_permanent` is True if a retry cannot
    help, such as after a certificate that is not trusted.
    """

    def __init__(self, message: str, *, was_sent: bool = True, is_permanent: bool = False) -> None:
        super().__init__(message)
        self.was_sent = was_sent
        self.is_permanent = is_permanent

    @property
    def is_temporary(self) -> bool:
        return not self.is_permanent


class ProblemError(ClientError):
    """The bridge, or a proxy in front of it, refused; `code` is stable, `detail` is for people."""

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

    @property
    def is_temporary(self) -> bool:
        """True for a key over its rate limit, a bridge that fails or restarts, a proxy without a bridge."""
        return self.status == 429 or (self.status >= 500 and self.status not in NEVER_A_BRIDGE)
