"""Lost hints: waits and streams look again by themselves, and lose nothing."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.agents import Agent
from tests.harness.bridges import OPEN_ROOMS, Bridge, populate
from tests.harness.prototypes import copy_of_prototype
from tests.harness.sites import Site


@pytest.fixture
def isolated(tmp_path: Path) -> Iterator[Bridge]:
    """Two processes on one database without a channel layer between them: every hint is lost."""
    with copy_of_prototype("scaled", OPEN_ROOMS, tmp_path / "one", populate) as (environment, population):
        del environment["REDIS_URL"]
        # A folder each, as neither knows of the other, but with the same secrets in it.
        shutil.copytree(tmp_path / "one", tmp_path / "other")
        sites: list[Site] = []
        try:
            for folder in ("one", "other"):
                sites.append(Site(environment | {"DATA_DIR": str(tmp_path / folder)}))
            yield Bridge(environment, sites, population=population)
        finally:
            for site in sites:
                site.end()


def test_an_answer_given_in_another_process_arrives_within_five_seconds(
    isolated: Bridge,
) -> None:
    agent, ana = isolated.agent(), isolated.person()
    question = agent.ask()
    with agent.waiting(question["id"]) as wait:
        ana.answer(question, "SQLite")
        assert wait.result(timeout=5)["status"] == "answered"


def test_a_page_of_another_process_catches_up_within_five_seconds(isolated: Bridge) -> None:
    agent, ana = isolated.agent(), isolated.person()
    with ana.stream(agent.room) as stream:
        question = agent.ask()
        stream.set_timeout(5)
        assert question["id"] in stream.until("question").data


def test_messages_and_events_of_another_process_catch_up_within_five_seconds(
    isolated: Bridge,
) -> None:
    agent, ana = isolated.agent(), isolated.person()
    elsewhere = Agent(isolated.other_site, agent.room, agent.key)
    before = agent.send("first")
    with (
        elsewhere.background("GET", f"{agent.path}/messages?after={before['id']}&wait=20") as wait,
        elsewhere.events() as events,
    ):
        agent.send("second")
        assert wait.result(timeout=5)["messages"][0]["content"] == "second"
        events.set_timeout(5)
        assert events.next()["content"] == "second"
    assert ana.get(f"/rooms/{agent.room}").status == 200
