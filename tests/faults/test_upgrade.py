"""The current site on a database of the first version: all data is kept, and it works."""

import json
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.faults.first_schema import QUESTIONS
from tests.harness.agents import Agent
from tests.harness.databases import postgres_and_redis_urls
from tests.harness.people import Person
from tests.harness.sites import Site, clean_environment, run_manage

PASSWORD = secrets.token_urlsafe(12)


def run(environment: dict[str, str], *arguments: str) -> str:
    done = run_manage(environment, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_first_schema(environment: dict[str, str], call: str) -> Any:
    """What a function of `first_schema` returns, run on that database."""
    script = f"import json; from tests.faults.first_schema import *; print(json.dumps({call}))"
    return json.loads(run(environment, "shell", "-v0", "-c", script))


@contextmanager
def first_database(kind: str, data: Path) -> Iterator[tuple[dict[str, str], Any]]:
    """A database as the first version left it: how to reach it, and the keys and ids in it."""
    with ExitStack() as stack:
        environment = clean_environment(data)
        if kind == "postgres":
            environment |= stack.enter_context(postgres_and_redis_urls())
        run(environment, "migrate", "auth")
        run(environment, "migrate", "ask_bridge", "0001")
        yield environment, in_first_schema(environment, f"fill({PASSWORD!r})")


class Upgraded:
    """Nothing but a start of today's site: it brings the database up to date by itself."""

    def __init__(self, environment: dict[str, str], known: dict[str, Any]) -> None:
        self.site = Site(environment)
        self.keys: dict[str, str] = known["keys"]
        self.ids: dict[str, str] = known["ids"]

    def agent(self, room: str = "lobby") -> Agent:
        return Agent(self.site, room, self.keys[room])

    def person(self, username: str) -> Person:
        return Person(self.site, username, PASSWORD)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def upgraded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    with first_database(request.param, tmp_path_factory.mktemp("first") / "data") as (environment, known):
        upgraded = Upgraded(environment, known)
        yield upgraded
        upgraded.site.end()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_no_value_of_the_first_schema_is_lost_or_changed(kind: str, tmp_path: Path) -> None:
    with first_database(kind, tmp_path / "data") as (environment, _):
        before = in_first_schema(environment, "read_first_columns()")
        counts = {"Room": 3, "Membership": 1, "AgentKey": 3, "Question": 8, "Answer": 4, "Message": 3}
        assert {name: len(rows) for name, rows in before.items()} == counts
        run(environment, "migrate")
        assert in_first_schema(environment, "read_first_columns()") == before


def test_an_old_site_is_prepared_but_not_welcomed_again(upgraded: Upgraded) -> None:
    assert "Preparing the database" in upgraded.site.printed
    assert "Password" not in upgraded.site.printed


def test_agents_find_what_they_asked_and_what_was_answered(upgraded: Upgraded) -> None:
    found = {name: upgraded.agent().read(question_id) for name, question_id in upgraded.ids.items()}
    del found["left to answer"]
    assert {name: question["status"] for name, question in found.items()} == {
        name: QUESTIONS[name][0] for name in found
    }
    for name, via in {"answered": "web", "terminal": "terminal", "default": "default"}.items():
        answer = found[name]["answer"]
        assert (answer["answers"][0]["selectedOptions"], answer["via"]) == (["SQLite"], via)
    assert found["answered"]["answer"]["by"]["username"] == "ana"
    assert (found["declined"]["answer"]["kind"], found["declined"]["answer"]["reason"]) == ("skip", "Not now")
    assert found["open"]["context"]["branch"] == "main"


def test_agents_find_the_messages(upgraded: Upgraded) -> None:
    messages = upgraded.agent().call("GET", "/api/v1/rooms/lobby/messages").json()["messages"]
    assert {"From an agent", "From Ana"} <= {message["content"] for message in messages}


def test_agents_find_how_each_old_question_ended(upgraded: Upgraded) -> None:
    messages = upgraded.agent().call("GET", "/api/v1/rooms/lobby/messages").json()["messages"]
    responses = {
        json.loads(message["content"])["questionMessageId"]: message
        for message in messages
        if message["type"] == "AskUserQuestionResponse"
    }
    senders = {
        name: (responses[upgraded.ids[name]]["sender"], responses[upgraded.ids[name]]["sender_type"])
        for name in ("answered", "terminal", "declined", "expired", "default", "withdrawn")
    }
    agent_name = upgraded.agent().read(upgraded.ids["withdrawn"])["agent"]["name"]
    assert senders == {
        "answered": ("Ana", "human"),
        "terminal": ("terminal", "agent"),
        "declined": ("Ben", "human"),
        "expired": ("system", "system"),
        "default": ("system", "system"),
        "withdrawn": (agent_name, "agent"),
    }


def test_keys_open_what_they_opened_and_revoked_ones_nothing(upgraded: Upgraded) -> None:
    assert upgraded.agent("team").open_questions() == []
    refused = upgraded.agent().call("GET", "/api/v1/rooms/lobby/questions", key=upgraded.keys["revoked"])
    assert refused.status == 401


def test_people_find_their_rooms_and_every_card(upgraded: Upgraded) -> None:
    ana, ben = upgraded.person("ana"), upgraded.person("ben")
    page = ana.get("/rooms/lobby").text
    for text in (*upgraded.ids.values(), "From an agent", "From Ana", "Not now", "As it was."):
        assert text in page
    assert (ana.get("/rooms/team").status, ben.get("/rooms/team").status) == (200, 404)
    assert ana.get("/rooms/old").status == 404


def test_an_old_open_question_is_answered_and_its_agent_is_told(upgraded: Upgraded) -> None:
    agent, ben = upgraded.agent(), upgraded.person("ben")
    question = agent.read(upgraded.ids["left to answer"])
    with agent.waiting(question["id"]) as wait:
        ben.answer(question, "PostgreSQL")
        assert wait.result()["answer"]["by"]["username"] == "ben"


def test_new_questions_are_asked_and_answered_in_ways_the_first_version_did_not_know(
    upgraded: Upgraded,
) -> None:
    agent, ana = upgraded.agent(), upgraded.person("ana")
    question = agent.ask()
    with agent.waiting(question["id"]) as wait:
        ana.ask_back(question, "Why?")
        assert wait.result()["answer"]["kind"] == "reply"


def test_no_migration_is_missing(tmp_path: Path) -> None:
    run(clean_environment(tmp_path / "data"), "makemigrations", "--check", "--dry-run")
