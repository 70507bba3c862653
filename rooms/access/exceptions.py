"""Exceptions of the access checks: the reasons why access is refused."""

from rooms.contract.scopes import Scope


class Missing(Exception):
    """It does not exist, or not for this key; callers cannot tell which."""


class SignedOut(Exception):
    """The session of a page has ended."""


class BadKey(Exception):
    """The key is missing, wrong, revoked or expired; callers cannot tell which."""


class MayNotAnswer(Exception):
    """The person may see the room, but neither decide nor write in it."""


class MissingScope(Exception):
    """The key was created without the scope that this needs."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(f"needs the scope {scope.value}")
        self.scope = scope


class NotOwnQuestion(Exception):
    """The key may read this question, but another key asked it."""


class NotRotatable(Exception):
    """The key is revoked or expired, or expires before the overlap of a rotation would end."""
