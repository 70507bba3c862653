"""Expired sessions are deleted, all others stay."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.utils import timezone

from bridge import session_cleanup
from bridge.session_cleanup import BATCH_SIZE, SessionCleanup, delete_expired_sessions
from rooms.db.pool import in_database
from tests.harness.database_pool import close_pool_connections
from tests.harness.sites import START_SECONDS, Site
from tests.harness.timing import PATIENCE_SECONDS, eventually


def make_sessions(count: int, days: int, name: str = "s") -> None:
    expire_date = timezone.now() + timedelta(days=days)
    Session.objects.bulk_create(
        [
            Session(session_key=f"{name}{number}", session_data="", expire_date=expire_date)
            for number in range(count)
        ]
    )


def test_expired_sessions_go_in_batches_and_others_stay(db: None) -> None:
    make_sessions(BATCH_SIZE + 1, days=-1, name="old")
    make_sessions(3, days=1, name="new")
    assert [delete_expired_sessions() for _ in range(3)] == [BATCH_SIZE, 1, 0]
    assert set(Session.objects.values_list("pk", flat=True)) == {"new0", "new1", "new2"}


def test_processes_that_purge_together_leave_nothing(transactional_db: None) -> None:
    make_sessions(3 * BATCH_SIZE, days=-1)
    failures: list[BaseException] = []

    def purge() -> None:
        try:
            while delete_expired_sessions():
                pass
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=purge) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(START_SECONDS)
    assert failures == []
    assert not Session.objects.exists()


def test_it_is_done_again_from_time_to_time(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_cleanup, "CLEANUP_INTERVAL_SECONDS", 0.01)

    async def run() -> None:
        cleanup = SessionCleanup()
        await cleanup.start()
        for name in ("first", "second"):
            await in_database(make_sessions, 1, days=-1, name=name)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while await in_database(Session.objects.exists):
                    await asyncio.sleep(0.01)
        cleanup.stop()
        await close_pool_connections()

    asyncio.run(run())


@pytest.mark.usefixtures("migrated")
def test_a_site_deletes_them_at_its_start(serve: Callable[..., Site], environment: dict[str, str]) -> None:
    file = Path(environment["DATA_DIR"]) / "ask-bridge.sqlite3"

    def sessions() -> Any:
        with closing(sqlite3.connect(file)) as database:
            return [key for (key,) in database.execute("SELECT session_key FROM django_session")]

    with closing(sqlite3.connect(file)) as database, database:
        for key, day in (("old", "2020-01-01"), ("new", "2999-01-01")):
            database.execute("INSERT INTO django_session VALUES (?, '', ?)", [key, f"{day} 00:00:00"])
    site = serve()
    eventually(lambda: sessions() == ["new"], START_SECONDS)
    assert site.stop() == (0, "")
