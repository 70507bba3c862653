"""The session of a request: read by a compiled statement, and otherwise as Django reads it."""

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.db import connection
from django.db.models.sql.compiler import SQLCompiler
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from bridge.sessions import SessionStore


@pytest.fixture
def stored(db: None) -> SessionStore:
    session = SessionStore()
    session["theme"] = "dark"
    session.save()
    return session


def test_a_session_is_read_by_one_query(stored: SessionStore) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert SessionStore(stored.session_key)["theme"] == "dark"
    assert len(queries) == 1


def test_a_session_that_ended_is_empty_and_has_lost_its_key(stored: SessionStore) -> None:
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    ended = SessionStore(stored.session_key)
    assert "theme" not in ended
    assert ended.session_key is None


def test_a_made_up_key_is_not_used(db: None) -> None:
    forged = SessionStore("f" * 32)
    forged["theme"] = "dark"
    forged.save()
    assert forged.session_key != "f" * 32


def test_the_orm_builds_no_sql_for_the_session_and_the_user_of_a_request(
    db: None, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(get_user_model().objects.create_user("ana"))
    assert client.get("/").status_code == 200  # compiles the statements
    built = []
    build = SQLCompiler.as_sql
    monkeypatch.setattr(
        SQLCompiler, "as_sql", lambda self, *a, **k: built.append(self.query.model) or build(self, *a, **k)
    )
    assert client.get("/").status_code == 200
    assert built
    assert not {Session, get_user_model()} & set(built)
