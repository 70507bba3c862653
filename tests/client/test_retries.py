"""Retries over restarts, broken connections and rate limits; a question is never asked twice."""

import signal
import socket
import threading
import time

import pytest

from bridge_client import Answered, Client, ClientError, ProblemError, Unreachable
from bridge_client.transport.deadlines import Deadline
from bridge_client.transport.retries import Retries
from tests.client.loopback import (
    EMPTY_OR_CUT,
    Behaviour,
    Front,
    Request,
    drop,
    drop_after_forwarding,
    reply,
    send_bytes,
)
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.timing import eventually

GO_ON = {"question": "Go on?", "options": ["Yes", "No"]}


@pytest.fixture
def client(front: Front, agent: Agent) -> Client:
    return Client(front.url, agent.key, agent.room, patience_seconds=10)


@pytest.mark.parametrize(
    "behaviour", [drop, reply(500), reply(502), reply(503), reply(504), reply(520), reply(429)]
)
def test_temporary_errors_are_retried(client: Client, front: Front, agent: Agent, behaviour) -> None:
    front.next.extend([behaviour, behaviour])
    question = client.ask(GO_ON)
    assert len(front.calls("POST")) == 3
    assert [card["id"] for card in agent.open_questions()] == [question.id]


@pytest.mark.parametrize("cut", EMPTY_OR_CUT.values(), ids=EMPTY_OR_CUT)
def test_an_ask_whose_reply_is_empty_or_cut_is_retried(
    client: Client, front: Front, agent: Agent, cut: Behaviour
) -> None:
    front.next.append(cut)
    question = client.ask(GO_ON)
    assert [card["id"] for card in agent.open_questions()] == [question.id]


def test_an_error_after_the_question_was_stored_does_not_ask_twice(
    client: Client, front: Front, agent: Agent
) -> None:
    def fail_after_forwarding(front: Front, sock: socket.socket, request: Request) -> None:
        drop_after_forwarding(front, sock, request)
        reply(500)(front, sock, request)

    front.next.extend([fail_after_forwarding, fail_after_forwarding])
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


def test_a_tool_use_needs_no_idempotency_key(client: Client, front: Front, agent: Agent) -> None:
    front.next.append(drop_after_forwarding)
    question = client.ask(GO_ON, session_id="s", tool_use_id="t")
    assert all("idempotency-key" not in request.headers for request in front.calls("POST"))
    assert [card["id"] for card in agent.open_questions()] == [question.id]


def test_retry_after_is_respected(client: Client, front: Front) -> None:
    front.next.append(reply(503, Retry_After="1"))
    client.ask(GO_ON)
    first, second = front.calls("POST")
    assert 1 <= second.at - first.at < 3


def test_retry_after_may_be_a_date(client: Client, front: Front) -> None:
    front.next.append(reply(503, Retry_After="Thu, 01 Jan 1970 00:00:00 GMT"))
    client.ask(GO_ON)
    first, second = front.calls("POST")
    assert second.at - first.at < 1


@pytest.mark.parametrize("status", [400, 401, 404, 409, 413, 422, 501])
def test_permanent_errors_are_not_retried(client: Client, front: Front, status: int) -> None:
    front.next.append(reply(status))
    with pytest.raises(ProblemError) as refused:
        client.ask(GO_ON)
    assert refused.value.status == status
    assert refused.value.code == f"http_{status}"
    assert len(front.requests) == 1


def test_the_last_error_is_raised_at_the_deadline(front: Front, agent: Agent) -> None:
    client = Client(front.url, agent.key, agent.room, patience_seconds=1)
    front.always = reply(502)
    with pytest.raises(ProblemError) as refused:
        client.ask(GO_ON)
    assert refused.value.status == 502
    assert len(front.requests) > 1


def test_a_call_that_is_told_to_come_back_too_late_fails_at_once(client: Client, front: Front) -> None:
    front.next.append(reply(503, Retry_After="60"))
    started = time.monotonic()
    with pytest.raises(ProblemError):
        client.ask(GO_ON)
    assert time.monotonic() - started < 5
    assert len(front.requests) == 1


def test_a_missing_server_is_unreachable_at_the_deadline(agent: Agent) -> None:
    client = Client("http://127.0.0.1:9", agent.key, agent.room, patience_seconds=1)
    started = time.monotonic()
    with pytest.raises(Unreachable, match=r"http://127\.0\.0\.1:9: connection refused"):
        client.ask(GO_ON)
    assert time.monotonic() - started < 2


def test_on_retry_is_called_once_per_outage(front: Front, agent: Agent) -> None:
    told: list[ClientError] = []
    client = Client(front.url, agent.key, agent.room, patience_seconds=10, on_retry=told.append)
    front.next.extend([reply(502), reply(502), reply(502)])
    client.ask(GO_ON)
    assert len(told) == 1


def test_a_message_that_may_have_arrived_is_not_sent_again(
    client: Client, front: Front, agent: Agent
) -> None:
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


def test_pauses_grow_but_stay_within_bounds() -> None:
    retries = Retries(Deadline(None))
    pauses = []
    for failures in range(20):
        retries._failures = failures
        pauses.append(retries._pause_seconds(Unreachable("away")))
    assert 0.1 <= pauses[0] <= 0.2
    assert all(1.5 <= pause <= 3 for pause in pauses[5:])


@pytest.mark.parametrize("named", [3600.0, float("inf")])
def test_a_pause_that_a_maintenance_page_names_is_bounded(named: float) -> None:
    error = ProblemError(503, "http_503", "Maintenance", retry_after_seconds=named)
    assert 60 <= Retries(Deadline(None))._pause_seconds(error) <= 63


@pytest.mark.parametrize("text", ["soon", "-1", "\xb2", "9" * 400])
def test_any_retry_after_is_understood_or_ignored(client: Client, front: Front, text: str) -> None:
    front.always = send_bytes(f"HTTP/1.1 503 Away\r\nRetry-After: {text}\r\n\r\n".encode("latin-1"))
    with pytest.raises(ProblemError) as refused:
        client.transport.request("GET", "/")
    assert refused.value.retry_after_seconds == (float("inf") if text.startswith("9") else None)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_asks_once_and_returns_the_answer(own_bridge: Bridge, end: int) -> None:
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
