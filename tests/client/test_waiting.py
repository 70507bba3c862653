"""Long-polls over broken connections, short timeouts of proxies, and WSGI."""

import socket
import threading
import time
from contextlib import suppress

import pytest

from bridge_client import Answered, Client, ProblemError, Unreachable
from bridge_client.transport import waiting
from tests.client.loopback import EMPTY_OR_CUT, Behaviour, Front, Request, drop, forward, reply
from tests.harness.agents import Agent
from tests.harness.people import Person
from tests.harness.timing import eventually

GO_ON = {"question": "Go on?", "options": ["Yes", "No"]}


def without_waiting(front: Front, sock: socket.socket, request: Request) -> None:
    """Under WSGI every wait replies at once."""
    request.head = request.head.replace(b"wait=", b"ignored=")
    request.target = request.target.replace("wait=", "ignored=")
    forward(front, sock, request)


@pytest.fixture
def client(front: Front, agent: Agent) -> Client:
    return Client(front.url, agent.key, agent.room, patience_seconds=10)


def test_a_wait_continues_after_broken_connections(
    client: Client, front: Front, agent: Agent, person: Person
) -> None:
    question = client.ask(GO_ON)
    front.next.extend([drop, reply(504), drop])
    results = []
    waiting = threading.Thread(target=lambda: results.append(client.wait(question.id, 30)))
    waiting.start()
    eventually(lambda: agent.read(question.id)["agent"]["active"])
    person.answer(question.data, "Yes")
    waiting.join(5)
    assert isinstance(results[0], Answered)


def test_a_wait_that_is_cut_in_the_middle_continues_over_an_outage(
    client: Client, front: Front, agent: Agent, person: Person
) -> None:
    question = client.ask(GO_ON)
    results = []
    waiting = threading.Thread(target=lambda: results.append(client.wait(question.id, 60)))
    waiting.start()
    eventually(lambda: agent.read(question.id)["agent"]["active"])
    front.fail_for_a_while()
    person.answer(question.data, "Yes")
    waiting.join(10)
    assert isinstance(results[0], Answered)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 520, 524])
def test_a_wait_continues_after_an_error_of_the_server(
    client: Client, front: Front, agent: Agent, person: Person, status: int
) -> None:
    question = agent.ask()
    person.answer(question, "SQLite")
    front.next.append(reply(status))
    assert isinstance(client.wait(question["id"], 30), Answered)
    assert len(front.calls("GET")) == 2


@pytest.mark.parametrize("cut", EMPTY_OR_CUT.values(), ids=EMPTY_OR_CUT)
def test_a_wait_continues_after_a_reply_that_is_empty_or_cut(
    client: Client, front: Front, agent: Agent, person: Person, cut: Behaviour
) -> None:
    question = agent.ask()
    person.answer(question, "SQLite")
    front.next.append(cut)
    assert isinstance(client.wait(question["id"], 30), Answered)
    assert len(front.calls("GET")) == 2


@pytest.mark.parametrize("status", [401, 403, 404, 410, 422, 501])
def test_a_permanent_error_ends_a_wait_at_once(
    client: Client, front: Front, agent: Agent, status: int
) -> None:
    question = agent.ask()
    front.next.append(reply(status))
    with pytest.raises(ProblemError) as refused:
        client.wait(question["id"], 30)
    assert refused.value.status == status
    assert len(front.requests) == 1


def test_a_wait_without_a_good_reply_fails_only_at_its_end(client: Client, front: Front) -> None:
    question = client.ask(GO_ON)
    front.always = reply(500)
    started = time.monotonic()
    with pytest.raises(ProblemError) as refused:
        client.wait(question.id, 2)
    assert refused.value.status == 500
    assert time.monotonic() - started >= 2


def test_a_wait_that_is_told_to_come_back_too_late_tries_once_more_at_its_end(
    client: Client, front: Front, agent: Agent, person: Person
) -> None:
    question = agent.ask()
    person.answer(question, "SQLite")
    front.next.append(reply(503, Retry_After="600"))
    assert isinstance(client.wait(question["id"], 1), Answered)
    first, last = front.calls("GET")
    assert last.at - first.at >= 0.9
    assert last.target.endswith("wait=0.000")


def test_the_last_try_of_a_wait_is_short(client: Client, front: Front) -> None:
    """Claude Code stops a hook a few seconds after the hook's own timeout."""
    question = client.ask(GO_ON)
    front.next.append(reply(503, Retry_After="600"))
    front.always = lambda front, sock, request: sock.recv(1)  # never a reply
    started = time.monotonic()
    with pytest.raises(Unreachable, match="no answer within 2 seconds"):
        client.wait(question.id, 1)
    assert time.monotonic() - started < 5


def test_waits_stay_below_the_timeout_of_a_proxy(
    client: Client, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "SHORTEST_POLL_SECONDS", 0.1)
    question = client.ask(GO_ON)
    patience_seconds = 2.0

    def cut(front: Front, sock: socket.socket, request: Request) -> None:
        sock.settimeout(patience_seconds)
        with suppress(TimeoutError):
            sock.recv(1)
        reply(504)(front, sock, request)

    front.next.append(cut)
    client.wait(question.id, 6, ends_wait=False)
    asked = [float(request.target.partition("wait=")[2]) for request in front.calls("GET")]
    assert asked[0] > patience_seconds
    # The next waits last four fifths of the first one.
    first, second, *_ = front.calls("GET")
    assert all(seconds < 0.8 * (second.at - first.at) for seconds in asked[1:])


def test_a_wait_without_a_connection_is_unreachable_at_its_end(client: Client, front: Front) -> None:
    question = client.ask(GO_ON)
    front.always = drop
    with pytest.raises(Unreachable):
        client.wait(question.id, 1)


def test_a_bridge_that_cannot_hold_waits_is_polled_slowly(client: Client, front: Front) -> None:
    question = client.ask(GO_ON)
    front.always = without_waiting
    client.wait(question.id, 3, ends_wait=False)
    assert len(front.calls("GET")) <= 3


# ---- messages --------------------------------------------------------------------------------------------


def test_a_wait_for_messages_continues_over_an_outage(client: Client, front: Front, agent: Agent) -> None:
    pages = []
    waiting = threading.Thread(target=lambda: pages.append(client.messages(wait_seconds=60)))
    waiting.start()
    eventually(lambda: front.calls("GET", "/messages"))
    front.fail_for_a_while()
    agent.send("hello")
    waiting.join(10)
    messages, _ = pages[0]
    assert [message["content"] for message in messages] == ["hello"]


def test_a_wait_for_messages_is_not_longer_after_an_error(
    client: Client, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "POLL_SECONDS", 0.5)
    front.next.extend([forward, reply(500)])
    assert client.messages(wait_seconds=6) == ([], None)
    asked = [float(request.target.partition("wait=")[2]) for request in front.calls("GET", "/messages")]
    assert len(asked) > 3
    assert max(asked) == 0.5
    assert asked[-1] < 0.5


def test_a_permanent_error_ends_a_wait_for_messages_at_once(client: Client, front: Front) -> None:
    front.next.append(reply(401))
    with pytest.raises(ProblemError):
        client.messages(wait_seconds=30)
    assert len(front.requests) == 1


def test_a_bridge_that_cannot_hold_waits_for_messages_is_polled_slowly(client: Client, front: Front) -> None:
    front.always = without_waiting
    client.messages(wait_seconds=3)
    assert len(front.calls("GET", "/messages")) <= 3
