"""`Client.events`: each message once and in order, over broken connections."""

import queue
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from bridge_client import Cancellation, Cancelled, Client, ProblemError
from tests.client.loopback import Behaviour, Front, drop, reply, reset, send_bytes
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.timing import eventually

STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


class Listener:
    """Messages of a stream that is read in the background."""

    def __init__(self, client: Client, last_event_id: str = "") -> None:
        self.cancellation = Cancellation()
        self._heard: queue.Queue[Any] = queue.Queue()
        self._events = client.events(last_event_id, cancellation=self.cancellation)
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        with suppress(Cancelled):
            for message in self._events:
                self._heard.put(message["content"])

    def next(self, seconds: float = 20) -> str:
        content: str = self._heard.get(timeout=seconds)
        return content

    def stop(self) -> None:
        self.cancellation.cancel()
        self._thread.join(10)
        assert self._heard.empty()


@pytest.fixture
def client(front: Front, agent: Agent) -> Client:
    return Client(front.url, agent.key, agent.room)


@pytest.fixture
def listener(client: Client, front: Front) -> Iterator[Listener]:
    listening = Listener(client)
    eventually(lambda: front.bytes_sent)
    yield listening
    listening.stop()


def test_messages_arrive_as_they_are_sent(listener: Listener, agent: Agent) -> None:
    agent.send("one")
    agent.send("two")
    assert [listener.next(), listener.next()] == ["one", "two"]


def test_a_stream_can_start_after_an_id(client: Client, agent: Agent) -> None:
    first = agent.send("one")
    agent.send("two")
    listening = Listener(client, first["id"])
    assert listening.next() == "two"
    listening.stop()


def test_a_broken_stream_resumes_after_the_last_message(client: Client, front: Front, agent: Agent) -> None:
    first = agent.send("one")
    listening = Listener(client, first["id"])
    agent.send("two")
    assert listening.next() == "two"
    front.next.append(drop)
    front.break_all()
    agent.send("three")
    assert listening.next() == "three"
    listening.stop()


def test_nothing_is_missed_by_a_stream_that_broke_before_its_first_message(
    client: Client, front: Front, agent: Agent
) -> None:
    agent.send("just before")
    listening = Listener(client)
    eventually(lambda: front.bytes_sent)
    front.break_all()
    agent.send("meanwhile")
    heard = [listening.next()]
    while heard[-1] != "meanwhile":
        heard.append(listening.next())
    # Dates have seconds: a message sent in the same second in which the stream began may arrive as well.
    assert heard in (["meanwhile"], ["just before", "meanwhile"])
    listening.stop()


def test_a_restart_is_survived(own_bridge: Bridge) -> None:
    agent = own_bridge.agent()
    client = Client(f"http://127.0.0.1:{own_bridge.site.port}", agent.key, agent.room)
    first = agent.send("one")
    listening = Listener(client, first["id"])
    agent.send("two")
    assert listening.next() == "two"
    own_bridge.site.stop()
    agent.site = own_bridge.start_again()
    agent.send("three")
    assert listening.next() == "three"
    listening.stop()


CUT_STREAMS: dict[str, Behaviour] = {
    "no reply": drop,
    "reset": reset,
    "half a head": send_bytes(b"HTTP/1.1 200 OK\r\nContent-Ty"),
    "no event": send_bytes(STREAM_HEAD, b"\r\n"),
    "half an event": send_bytes(STREAM_HEAD, b'\r\nid: m_9\ndata: {"content": "ha'),
    "half a chunk": send_bytes(STREAM_HEAD, b"Transfer-Encoding: chunked\r\n\r\n63\r\nid: m_9\n"),
    "an error": reply(500),
}


@pytest.mark.parametrize("cut", CUT_STREAMS.values(), ids=CUT_STREAMS)
def test_a_stream_that_is_cut_is_opened_again(
    client: Client, front: Front, agent: Agent, cut: Behaviour
) -> None:
    first = agent.send("one")
    agent.send("two")
    front.next.append(cut)
    listening = Listener(client, first["id"])
    assert listening.next() == "two"
    listening.stop()


def test_a_page_instead_of_a_stream_is_reported_at_once(client: Client, front: Front) -> None:
    front.always = reply(200)
    with pytest.raises(ProblemError, match="does not stream"):
        next(client.events())


def test_a_refused_key_is_reported_at_once(client: Client) -> None:
    with pytest.raises(ProblemError) as refused:
        next(client.in_room("no-such-room").events())
    assert refused.value.status == 404
