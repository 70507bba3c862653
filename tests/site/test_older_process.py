"""A running process whose database a newer version has migrated: it says so, and no deadline counts."""

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.agents import Agent
from tests.harness.sites import Site
from tests.harness.timing import eventually


@pytest.mark.usefixtures("migrated")
def test_an_old_process_leaves_deadlines_to_newer_ones_and_says_so(
    serve: Callable[..., Site], tmp_path: Path
) -> None:
    with sqlite3.connect(tmp_path / "data" / "ask-bridge.sqlite3") as database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) "
            "VALUES ('ask_bridge', '9000_later', '2040-01-01')"
        )
    site = serve()
    ready = {"database": "ok", "channel_layer": "ok", "version": "older_than_database"}
    eventually(lambda: site.request("GET", "/readyz").json() == ready)
    assert site.request("GET", "/readyz").status == 503
    agent = Agent(site, "lobby", re.findall(r"abk_\w+", site.printed)[0])
    question = agent.ask(timeout_seconds=1)
    # Past its deadline and several sweeps.
    assert agent.wait(question["id"], 3)["status"] == "open"
    reply = agent.post(agent.answer_url(question["id"]), {"answers": {"Which database?": ["SQLite"]}})
    assert (reply.status, reply.json()["code"]) == (503, "needs_newer_version")
    assert reply.headers["Retry-After"] == "5"
    _, log = site.stop()
    assert log.count("A newer version of Ask Bridge has migrated the database (9000_later;") == 1
    assert "Traceback" not in log
