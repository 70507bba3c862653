"""Fixtures of these tests: a room, its members Ana and Ben, and agents with their keys."""

import copy
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.utils import translation

from rooms import access, lifecycle
from rooms.contract.payload import parse_ask
from rooms.db import outages
from rooms.models import AgentKey, Question, Room
from rooms.rendering import named_people
from rooms.signals import room_changed
from tests.harness.agents import Agent

# Tests that search the history.
SEARCHING = frozenset(
    f"test_{name}.py"
    for name in (
        *("history_export", "history_search", "history_similar", "german_pages", "openapi"),
        *("option_memory", "question_admin", "question_page", "ask_back", "time_zones"),
    )
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let these commit on MariaDB, whose full-text index finds nothing before that."""
    for item in items:
        if connection.vendor == "mysql" and item.path.name in SEARCHING:
            item.add_marker(pytest.mark.django_db(transaction=True))


@pytest.fixture(autouse=True)
def own_language() -> Iterator[None]:
    """A thread keeps the language of its last request; the next test begins without one."""
    yield
    translation.deactivate()


@pytest.fixture(autouse=True)
def no_outage() -> None:
    """Outages are logged once in each process: without those of earlier tests."""
    for outage in (outages.database, outages.database_writes, outages.channel_layer):
        outage.forget()


@pytest.fixture(autouse=True)
def own_names() -> None:
    """Each test has people of its own, with the same user names."""
    named_people.forget()


ASK = {
    "agent": {"name": "refactor-bot", "color": "#818cf8"},
    "questions": [
        {
            "question": "Which database should we use?",
            "header": "Database",
            "multiSelect": False,
            "options": [
                {"label": "PostgreSQL (Recommended)", "description": "Grows with us."},
                {"label": "SQLite"},
            ],
        }
    ],
}


@pytest.fixture
def ana(db: None) -> Any:
    return get_user_model().objects.create_user("ana", first_name="Ana", last_name="Costa")


@pytest.fixture
def ben(db: None) -> Any:
    """Has no full name, only a username."""
    return get_user_model().objects.create_user("ben")


@pytest.fixture
def browser(ana: Any) -> Client:
    """Ana's, signed in."""
    client = Client()
    client.force_login(ana)
    return client


@pytest.fixture
def room(ana: Any, ben: Any) -> Room:
    """Ana's and Ben's room."""
    return lifecycle.create_room("ops", name="Operations", members=[ana, ben])


@pytest.fixture
def other_room(db: None) -> Room:
    """A room that Ana and Ben have nothing to do with."""
    return lifecycle.create_room("lab", name="Laboratory")


@pytest.fixture
def key(room: Room) -> tuple[AgentKey, str]:
    """The key of the room's agent, and its text."""
    return access.create_key(room, label="refactor-bot")


@pytest.fixture
def agent(room: Room, key: tuple[AgentKey, str]) -> Agent:
    return Agent.in_process(room, *key)


@pytest.fixture
def second_agent(room: Room) -> Agent:
    """Another agent in the same room."""
    return Agent.in_process(room, *access.create_key(room, label="deploy-bot"))


@pytest.fixture
def strict_agent(room: Room) -> Agent:
    """An agent whose key may only ask."""
    return Agent.in_process(room, *access.create_key(room, label="strict-bot", scopes=["ask"]))


@pytest.fixture
def chat_bot(room: Room) -> Agent:
    """A program that answers for the people of the room, and does nothing else."""
    return Agent.in_process(room, *access.create_key(room, label="Chat bot", scopes=["answer"]))


@pytest.fixture
def foreign_agent(other_room: Room) -> Agent:
    """An agent of the other room."""
    return Agent.in_process(other_room, *access.create_key(other_room, label="spy-bot"))


@pytest.fixture
def body() -> dict[str, Any]:
    """A small correct ask, to send or to spoil."""
    return copy.deepcopy(ASK)


@pytest.fixture
def ask(room: Room, key: tuple[AgentKey, str]) -> Callable[..., Question]:
    """Ask in the room; keyword arguments replace or add fields of the body."""

    def ask_in_room(**fields: Any) -> Question:
        question, _ = lifecycle.ask(room, key[0], parse_ask({**copy.deepcopy(ASK), **fields}))
        return question

    return ask_in_room


@pytest.fixture
def question(ask: Callable[..., Question]) -> Question:
    """One open question: PostgreSQL (Recommended) or SQLite."""
    return ask()


@pytest.fixture
def overdue(question: Question) -> Question:
    """An open question whose deadline is past, before any sweep has been by."""
    return _make_overdue(question)


@pytest.fixture
def make_overdue() -> Callable[[Question], Question]:
    """Move the question's deadline into the past."""
    return _make_overdue


def _make_overdue(question: Question) -> Question:
    question.expires_at = question.asked_at
    question.save(update_fields=["expires_at"])
    return question


@pytest.fixture
def hints() -> Iterator[list[dict[str, Any]]]:
    """What listeners of `room_changed` were told, in order."""
    received: list[dict[str, Any]] = []

    def receive(sender: object, signal: object, **hint: Any) -> None:
        received.append(hint)

    room_changed.connect(receive)
    yield received
    room_changed.disconnect(receive)


@pytest.fixture
def committed(django_capture_on_commit_callbacks: Any) -> Callable[[], Any]:
    """`with committed():` – afterwards happens what happens after a commit."""
    return partial(django_capture_on_commit_callbacks, execute=True)


@pytest.fixture
def problem() -> Callable[[Any, int, str], dict[str, Any]]:
    """Check that a reply is a problem of the one shape; its body."""

    def check(response: Any, status: int, code: str) -> dict[str, Any]:
        assert response.status_code == status, response.content
        assert response["Content-Type"] == "application/problem+json"
        body = json.loads(response.content)
        assert (body["type"], body["status"], body["code"]) == ("about:blank", status, code)
        assert body["title"]
        assert body["detail"]
        return body

    return check
