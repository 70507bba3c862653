"""MariaDB with two processes of the site: one winner, every entry once, all is found, the audit is whole."""

import json

import pytest

from tests.faults.simultaneous_answers import click_all_at_once, vote_all_at_once
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.people import Person
from tests.harness.sites import run_manage
from tests.harness.timing import eventually
from tests.live.test_concurrent_writers import test_pollers_listeners_and_pages_see_every_entry as see_all

pytestmark = pytest.mark.bridge(kinds=("mariadb",), rooms=("ops", "sre", "lab", "web"))


def test_fifty_clicks_and_votes_at_once_have_one_winner_each_time(
    bridge: Bridge, people: list[Person]
) -> None:
    agent = bridge.agent()
    click_all_at_once(bridge, agent, people, count=5)
    vote_all_at_once(bridge, bridge.agent(), people, count=2)


def test_every_reader_gets_every_entry_once(agent: Agent, bridge: Bridge) -> None:
    see_all(agent, bridge.person())


def test_settled_questions_are_found_and_the_audit_is_whole(agent: Agent, bridge: Bridge) -> None:
    person = bridge.person()
    options = [{"label": "PostgreSQL"}, {"label": "SQLite"}]
    question = agent.ask(questions=[{"question": "Which Größe for rooms/history.py? 🚀", "options": options}])
    person.answer(question, "SQLite")

    def is_found(text: str) -> bool:
        return f"/questions/{question['id']}" in person.get(f"/history?room={agent.room}&q={text}").text

    assert eventually(lambda: is_found("which"))  # the history is written every second
    for text in ("gro", "for", "rooms/history.py", "rooms/hist", "%22which+grosse%22", "WHICH+sqlite"):
        assert is_found(text), text
    assert not is_found("history/rooms")
    assert not is_found("which+nothing")
    ready = agent.site.request("GET", "/readyz")
    assert json.loads(ready.text) == {"database": "ok", "channel_layer": "ok"}
    assert "All is well" in run_manage(bridge.environment, "verify_audit").stdout
