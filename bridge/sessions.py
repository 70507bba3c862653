"""Django's sessions in the database. Every click begins with one, so looking it up is prepared."""

from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

from rooms.prepared import Select

SESSION = Select(lambda key, now: Session.objects.filter(session_key=key, expire_date__gt=now))


class SessionStore(db.SessionStore):
    """As Django's own in all else."""

    def _get_session_from_db(self) -> Any:
        session = SESSION.first(key=self.session_key, now=timezone.now())
        if session is None:
            self._session_key = None
        return session
