"""Restarts, broken connections and busy bridges: tried again until the deadline, never asked twice."""

import signal
import socket
import threading
import time
from contextlib import suppress

import pytest

from bridge_client import Answered, Client, ClientError, ProblemError, Unreachable, waiting
from bridge_client.retries import Deadline, Retries
from tests.client.loopback import Front, Request, drop, drop_after_forwarding, forward, reply
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.people import Person
from tests.harness.timing import eventually

GO_ON = {"question": "Go on?", "options": ["Yes", "No"]}


@pytest.fixture
def client(front: Front, agent: Agent) -> Client:
    return Client(front.url, agent.key, agent.room, patience_seconds=10)


@pytest.mark.parametrize("behaviour", [drop, reply(502), reply(503), reply(504), reply(429)])
def test_what_passes_is_tried_again(client: Client, front: Front, agent: Agent, behaviour) -> None:
    front.next.extend([behaviour, behaviour])
    question = client.ask(GO_ON)
    assert len(front.calls("POST")) == 3
    assert [card["id"] for card in agent.open_questions()] == [question.id]


def test_a_lost_reply_does_not_ask_twice(client: Client, front: Front, agent: Agent) -> None:
    front.next.extend([drop_after_forwarding, drop_after_forwarding])
    question = client.ask(GO_ON)
    keys = {request.headers["idempotency-key"] for request in front.calls("POST")}
    assert len(front.calls("POST")) == 3
    assert len(keys) == 1
    assert [card["id"] for card in agent.open_questions()] == [question.id]


def test_a_tool_use_needs_no_other_key(client: Client, front: Front, agent: Agent) -> None:
    front.next.append(drop_after_forwarding)
    question = client.ask(GO_ON, session_id="s", tool_use_id="t")
    assert all("idempotency-key" not in request.headers for request in front.calls("POST"))
    assert [card["id"] for card in agent.open_questions()] == [question.id]


def test_the_server_says_how_long_to_stay_away(client: Client, front: Front) -> None:
    front.next.append(reply(503, Retry_After="1"))
    client.ask(GO_ON)
    first, second = front.calls("POST")
    assert 1 <= second.at - first.at < 3


def test_it_may_say_so_with_a_date(client: Client, front: Front) -> None:
    front.next.append(reply(503, Retry_After="Thu, 01 Jan 1970 00:00:00 GMT"))
    client.ask(GO_ON)
    first, second = front.calls("POST")
    assert second.at - first.at < 1


@pytest.mark.parametrize("status", [400, 401, 404, 409, 413, 422, 500])
def test_what_does_not_pass_is_not_tried_again(client: Client, front: Front, status: int) -> None:
    front.next.append(reply(status))
    with pytest.raises(ProblemError) as refused:
        client.ask(GO_ON)
    assert refused.value.status == status
    assert refused.value.code == f"http_{status}"
    assert len(front.requests) == 1


def test_the_last_error_is_told_when_patience_ends(front: Front, agent: Agent) -> None:
    client = Client(front.url, agent.key, agent.room, patience_seconds=1)
    front.always = reply(502)
    with pytest.raises(ProblemError) as refused:
        client.ask(GO_ON)
    assert refused.value.status == 502
    assert len(front.requests) > 1


def test_nobody_there_is_unreachable_within_patience(agent: Agent) -> None:
    client = Client("http://127.0.0.1:9", agent.key, agent.room, patience_seconds=1)
    started = time.monotonic()
    with pytest.raises(Unreachable, match=r"http://127\.0\.0\.1:9: connection refused"):
        client.ask(GO_ON)
    assert time.monotonic() - started < 2


def test_the_first_failure_of_an_outage_is_told(front: Front, agent: Agent) -> None:
    told: list[ClientError] = []
    client = Client(front.url, agent.key, agent.room, patience_seconds=10, on_retry=told.append)
    front.next.extend([reply(502), reply(502), reply(502)])
    client.ask(GO_ON)
    assert len(told) == 1


def test_a_line_that_may_have_arrived_is_not_sent_again(client: Client, front: Front, agent: Agent) -> None:
    front.next.append(drop_after_forwarding)
    with pytest.raises(Unreachable):
        client.send_message("hello")
    assert len(front.requests) == 1
    front.next.append(reply(503))
    client.send_message("hello again")
    said = [message["content"] for message in agent.call("GET", f"{agent.path}/messages").json()["messages"]]
    assert said == ["hello", "hello again"]


def test_a_question_sent_as_a_message_is_not_asked_twice(client: Client, front: Front, agent: Agent) -> None:
    front.next.append(drop_after_forwarding)
    sent = client.send_message('{"question": "Go on?", "options": ["Yes", "No"]}', type="AskUserQuestion")
    assert [card["id"] for card in agent.open_questions()] == [sent["id"]]


def test_a_wait_goes_on_after_broken_connections(
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


def test_waits_stay_below_the_patience_of_a_proxy(
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
    client.wait(question.id, 6, says_goodbye=False)
    asked = [float(request.target.partition("wait=")[2]) for request in front.calls("GET")]
    assert asked[0] > patience_seconds
    # The next ones last four fifths of what that one did.
    first, second, *_ = front.calls("GET")
    assert all(seconds < 0.8 * (second.at - first.at) for seconds in asked[1:])


def test_a_wait_that_cannot_get_through_says_so_at_its_end(client: Client, front: Front) -> None:
    question = client.ask(GO_ON)
    front.always = drop
    with pytest.raises(Unreachable):
        client.wait(question.id, 1)


def test_a_bridge_that_cannot_hold_waits_is_not_stormed(client: Client, front: Front) -> None:
    """Under WSGI every wait replies at once."""
    question = client.ask(GO_ON)

    def reply_at_once(front: Front, sock, request) -> None:
        request.head = request.head.replace(b"wait=", b"ignored=")
        request.target = request.target.replace("wait=", "ignored=")
        forward(front, sock, request)

    front.always = reply_at_once
    client.wait(question.id, 3, says_goodbye=False)
    assert len(front.calls("GET")) <= 3


def test_pauses_grow_but_stay_within_bounds() -> None:
    retries = Retries(Deadline(None))
    pauses = []
    for failures in range(20):
        retries._failures = failures
        pauses.append(retries._pause_seconds(Unreachable("away")))
    assert 0.1 <= pauses[0] <= 0.2
    assert all(1.5 <= pause <= 3 for pause in pauses[5:])


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_in_the_middle_asks_once_and_brings_the_answer(own_bridge: Bridge, end: int) -> None:
    agent = own_bridge.agent()
    url = f"http://127.0.0.1:{own_bridge.site.port}"
    client = Client(url, agent.key, agent.room, patience_seconds=60)
    results: list[object] = []

    def ask() -> None:
        results.append(client.ask_and_wait(GO_ON, wait_seconds=120))

    waiting = threading.Thread(target=ask)
    waiting.start()
    (question,) = eventually(agent.open_questions)
    eventually(lambda: agent.read(question["id"])["agent"]["active"])
    own_bridge.site.stop(end)
    agent.site = own_bridge.start_again()
    eventually(lambda: agent.read(question["id"])["agent"]["active"], seconds=30)
    own_bridge.new_person("ana").answer(question, "Yes")
    waiting.join(10)
    (result,) = results
    assert isinstance(result, Answered)
    assert result.question.id == question["id"]
    listed = agent.call("GET", f"{agent.path}/questions").json()["questions"]
    assert [card["id"] for card in listed] == [question["id"]]


def test_a_bridge_that_starts_late_still_gets_the_question(own_bridge: Bridge) -> None:
    agent = own_bridge.agent()
    url = f"http://127.0.0.1:{own_bridge.site.port}"
    own_bridge.site.stop()
    told = threading.Event()
    client = Client(url, agent.key, agent.room, patience_seconds=60, on_retry=lambda _: told.set())
    asked = []
    asking = threading.Thread(target=lambda: asked.append(client.ask(GO_ON)))
    asking.start()
    assert told.wait(10)
    agent.site = own_bridge.start_again()
    asking.join(30)
    assert [card["id"] for card in agent.open_questions()] == [asked[0].id]
