"""Host projects with difficult settings: in each a question is asked, seen, answered and received."""

import json
import re
import secrets
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.harness.databases import mariadb_url
from tests.harness.people import Person
from tests.harness.timing import eventually
from tests.portal.portals import ASGI_SERVER, Host, running_host

HOSTS = [
    "plain",
    "uuid_users",
    "atomic_requests",
    "login_required",
    "deep_prefix",
    "script_name",
    "several_databases",
    "channels_routing",
    "own_policy",
    "french",
    "caching",
    "spartan",
    "mariadb",
    "naive_times",
]
# Where they differ from the others.
PREFIXES = {"deep_prefix": "/teams/tools/ask-bridge"}
ROOTS = {"script_name": "/intranet"}
APPLICATIONS = {
    "channels_routing": "tests.portal.hosts.routing:application",
    "spartan": "rooms.asgi:application",
}


@pytest.fixture(scope="module", params=HOSTS)
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    application = APPLICATIONS.get(request.param, "tests.portal.hosts.asgi:application")
    places = {"prefix": PREFIXES.get(request.param, "/ask"), "root": ROOTS.get(request.param, "")}
    data = tmp_path_factory.mktemp(request.param)
    with ExitStack() as stack:
        if request.param == "mariadb":
            places["HOST_DATABASE"] = stack.enter_context(mariadb_url())
        server = [*ASGI_SERVER, application]
        yield stack.enter_context(running_host(request.param, data, server, **places))


@pytest.fixture(scope="module")
def ana(host: Host) -> Person:
    return host.person("ana")


def chosen(question: Any) -> list[str]:
    """The chosen labels, as the agent gets them."""
    return question["answer"]["answers"][0]["selectedOptions"]  # type: ignore[no-any-return]


def test_a_question_is_asked_seen_answered_and_received(host: Host, ana: Person) -> None:
    agent = host.agent
    cursor = f"lobby:{ana.page_cursor('lobby')}"
    with ana.stream(None, since=cursor) as stream, agent.asking(wait=30) as asking:
        card = stream.until("question")
        assert "Which database?" in card.data
        assert f"{agent.prefix}/rooms/lobby/questions/" in card.data
        (question,) = agent.open_questions()
        assert not asking.has_begun  # it is held, not answered with nothing
        ana.answer(question, "SQLite")
        assert chosen(asking.result()) == ["SQLite"]
        assert agent.wait(question["id"], 1)["url"] == question["url"]
        assert "SQLite" in stream.until(f"card-{question['id']}").data


def test_the_second_answer_is_refused_and_the_first_one_stays(host: Host, ana: Person) -> None:
    ben = host.person("ben")
    question = host.agent.ask()
    form = ben.form_of(question)
    ana.answer(question, "SQLite")
    name, value = form["fields"]["PostgreSQL"]
    late = ben.post(form["action"], {name: value})
    assert late.status == 409
    assert "Answered by ana" in late.text
    assert chosen(host.agent.read(question["id"])) == ["SQLite"]


def test_asking_twice_is_asking_once(host: Host) -> None:
    call = {"session_id": "s", "tool_use_id": secrets.token_hex(4)}
    first = host.agent.ask(**call)
    again = host.agent.call("POST", f"{host.agent.path}/questions", host.agent.question_body(**call))
    assert (again.status, again.json()["id"]) == (200, first["id"])


def test_a_deadline_passes_by_itself(host: Host) -> None:
    question = host.agent.ask(timeout_seconds=1)
    assert eventually(lambda: host.agent.read(question["id"])["status"] != "open")
    assert host.agent.read(question["id"])["status"] == "expired"


def test_strangers_are_sent_to_the_login_of_the_portal(host: Host) -> None:
    page = host.portal.request("GET", f"{host.portal.prefix}/rooms/lobby")
    assert page.status == 302
    assert page.headers["Location"].startswith(f"{host.root}/entrance/?next=")
    wrong = host.agent.call("GET", f"{host.agent.path}/questions", key="abk_wrong")
    assert (wrong.status, wrong.json()["code"]) == (401, "unauthorized")


def test_every_page_is_there(host: Host, ana: Person) -> None:
    for path in ("/", "/settings", "/rooms/lobby", "/rooms/lobby/connect", "/manifest.webmanifest"):
        assert ana.get(f"{host.portal.prefix}{path}").status == 200
    ready = host.portal.request("GET", f"{host.portal.prefix}/readyz")
    assert json.loads(ready.text) == {"database": "ok", "channel_layer": "ok"}


def test_the_portal_itself_is_as_before(host: Host, ana: Person) -> None:
    assert ana.get(f"{host.root}/").text == "The portal's own page"


def test_nothing_went_wrong_unseen(host: Host) -> None:
    log = host.portal.log.read_text()
    assert "Traceback" not in log
    assert "Warning" not in log
    assert "All is well" in host.run("django", "verify_audit")


@pytest.mark.parametrize("host", ["french"], indirect=True)
def test_texts_without_a_translation_are_marked_as_english(host: Host, ana: Person) -> None:
    page = ana.get(f"{host.portal.prefix}/").text
    assert "Inbox" in page
    assert re.search(r'id="ab-layout" lang="en" dir="ltr"', page)


@pytest.mark.parametrize("host", ["channels_routing"], indirect=True)
def test_its_websockets_are_open_as_before(host: Host) -> None:
    with socket.create_connection(("127.0.0.1", host.portal.port), timeout=10) as connection:
        connection.sendall(
            b"GET /echo HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
        )
        assert connection.recv(1024).startswith(b"HTTP/1.1 101 ")
