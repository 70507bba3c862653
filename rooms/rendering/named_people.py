"""Names of the people and groups that careful questions name; those of people are cached for a minute."""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import SynchronousOnlyOperation
from django.utils.translation import gettext

from rooms.contract.care import group_in
from rooms.profiles import name_of

# A new name may be late on the cards of open questions; settled ones have names of their own.
KEPT_SECONDS = 60
# Far more people than open questions name; with more, all are read again.
MOST_KEPT = 10_000

_names: dict[str, tuple[float, str]] = {}


def names_of(usernames: Sequence[str]) -> list[str]:
    """The names of these people and groups; of people without an account the user names."""
    now = time.monotonic()
    people = [username for username in usernames if group_in(username) is None]
    unknown = [username for username in people if _names.get(username, (0.0, ""))[0] <= now]
    if unknown:
        # An event loop renders what a thread has rendered before: the names are known, if a bit old.
        with suppress(SynchronousOnlyOperation):
            _read(unknown, now + KEPT_SECONDS)
    return [_name_of(username) for username in usernames]


def _name_of(username: str) -> str:
    group = group_in(username)
    if group is not None:
        return gettext("the group %(name)s") % {"name": group}
    return _names.get(username, (0.0, username))[1]


def forget() -> None:
    """Read all names again, for tests."""
    _names.clear()


def _read(usernames: list[str], until: float) -> None:
    users: Any = get_user_model()
    if len(_names) > MOST_KEPT:
        _names.clear()
    found = users._default_manager.filter(**{f"{users.USERNAME_FIELD}__in": usernames})
    known = {str(user.get_username()): name_of(user) for user in found}
    _names.update({username: (until, known.get(username, username)) for username in usernames})
