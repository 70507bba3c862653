"""Why access is refused."""

from rooms.contract.scopes import Scope


class Missing(Exception):
    """Not there, or not for this key: the same to the caller."""


class SignedOut(Exception):
    """A page's session is over."""


class BadKey(Exception):
    """No key, a wrong key, a revoked or an expired one: all the same to the caller."""


class MayNotAnswer(Exception):
    """Somebody who may see a room, but neither decide nor write in it."""


class MissingScope(Exception):
    """A key may not do this: it was made without the scope."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(f"needs the scope {scope.value}")
        self.scope = scope


class NotOwnQuestion(Exception):
    """A key may read this question, but another one asked it."""


class NotRotatable(Exception):
    """A key that is dead, or has less time left than its rotation would give it."""
