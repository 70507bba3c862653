"""Session engine: Django's database sessions with a compiled SELECT, because every page and click runs it.

It takes 0.3 ms less of the CPU than the ORM: a sixth of a click, 7 % of the way to the agent.
"""

from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.models import Session
from django.utils import timezone

from rooms.db.compiled import Select
from rooms.db.transactions import refusal_of

DATA: Select[Any] = Select(
    lambda key, now: Session.objects.filter(session_key=key, expire_date__gt=now), "session_data"
)


class SessionStore(db.SessionStore):
    """Django's session store with a faster read, and with the database's own error when a write fails."""

    def load(self) -> dict[str, Any]:
        """The content of the session; without one Django's own `load` also removes the key."""
        found = DATA.first(key=self.session_key, now=timezone.now())
        return super().load() if found is None else self.decode(found[0])

    def save(self, must_create: bool = False) -> None:
        """Save, and raise the database's own error when it refuses writes.

        Django would raise UpdateError, as if the session had ended.
        """
        try:
            super().save(must_create)
        except UpdateError as error:
            if error.__context__ and refusal_of(error.__context__):
                raise error.__context__ from error.__context__.__cause__
            raise
