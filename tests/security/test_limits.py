"""Clients that send too much, too fast or too slowly, or never read, harm no other client."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from tests.harness.agents import Agent
from tests.harness.bridge_fixture import numbered
from tests.harness.bridges import Bridge
from tests.harness.http import Reply
from tests.harness.people import Person
from tests.harness.sites import Site
from tests.harness.timing import eventually

MEBIBYTE = 1024 * 1024
HUGE = 60 * MEBIBYTE
# What Python, SQLite and the caches of templates may grow by on their own while a test runs.
ORDINARY_GROWTH = 16 * MEBIBYTE
# Other clients must not notice; on a busy machine an ordinary request takes some hundredths.
PROMPT_SECONDS = 1.5


# A process of its own: these tests watch its memory.
pytestmark = pytest.mark.bridge(rooms=numbered(48))


def memory_of(site: Site, kind: str = "VmRSS") -> int:
    """Bytes in real memory, now or (VmHWM) at the most."""
    status = Path(f"/proc/{site.process.pid}/status").read_text()
    return int(status.partition(f"{kind}:")[2].split()[0]) * 1024


def forget_the_most(site: Site) -> None:
    """From here on VmHWM is the most since now."""
    Path(f"/proc/{site.process.pid}/clear_refs").write_text("5")


def assert_problem(reply: Reply, status: int, code: str) -> None:
    assert reply.status == status, reply.text
    assert reply.headers["Content-Type"] == "application/problem+json"
    assert reply.json()["code"] == code


# ---- too large -------------------------------------------------------------------------------------------

# Each takes its body in another way: Django, a wait, a hook, a stream's cursors, a form.
BODY_PATHS = {
    "ask": "/api/v1/rooms/{room}/questions",
    "ask and wait": "/api/v1/rooms/{room}/questions?wait=1",
    "message": "/api/v1/rooms/{room}/messages",
    "hook": "/api/v1/rooms/{room}/hooks/claude-code",
}


def parts(size: int) -> Iterator[bytes]:
    part = b" " * MEBIBYTE
    for _ in range(size // MEBIBYTE):
        yield part


@pytest.mark.parametrize("is_chunked", [False, True], ids=["declared", "chunked"])
@pytest.mark.parametrize("path", BODY_PATHS.values(), ids=BODY_PATHS.keys())
def test_sixty_megabytes_are_refused_and_never_held(
    bridge: Bridge, agent: Agent, path: str, is_chunked: bool
) -> None:
    agent.ask()  # whatever the first request loads is loaded
    before = memory_of(bridge.site)
    forget_the_most(bridge.site)
    length = {} if is_chunked else {"Content-Length": str(HUGE)}
    refused = bridge.site.request(
        "POST",
        path.format(room=agent.room),
        body=parts(HUGE),
        headers=agent.headers() | length,
        encode_chunked=is_chunked,
    )
    assert_problem(refused, 413, "too_large")
    assert memory_of(bridge.site, "VmHWM") - before < ORDINARY_GROWTH


@pytest.mark.parametrize("path", ["/rooms/{room}/messages", "/stream", "/settings", "/login/"])
def test_a_huge_form_is_refused_without_an_error_of_ours(bridge: Bridge, agent: Agent, path: str) -> None:
    ana = bridge.person()
    before = memory_of(bridge.site)
    forget_the_most(bridge.site)
    headers = ana._headers({"Content-Type": "application/x-www-form-urlencoded", "Content-Length": str(HUGE)})
    refused = bridge.site.request("POST", path.format(room=agent.room), body=parts(HUGE), headers=headers)
    assert 400 <= refused.status < 500
    assert memory_of(bridge.site, "VmHWM") - before < ORDINARY_GROWTH


def test_just_over_the_limit_is_refused_and_just_under_it_is_read(agent: Agent) -> None:
    for size, status in ((64 * 1024 + 1, 413), (64 * 1024, 201)):
        body = json.dumps(agent.question_body()).ljust(size)
        reply = agent.site.request("POST", f"{agent.path}/questions", body=body, headers=agent.headers())
        assert reply.status == status


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nX-Long: " + b"x" * 20 * MEBIBYTE,
        b"GET / HTTP/1.1\r\n" + b"X-Many: x\r\n" * 500_000,
        b"GET /" + b"x" * 20 * MEBIBYTE,
    ],
    ids=["one long header", "many headers", "a long address"],
)
def test_endless_headers_end_the_connection(bridge: Bridge, head: bytes) -> None:
    before = memory_of(bridge.site)
    forget_the_most(bridge.site)
    endless = socket.create_connection(("127.0.0.1", bridge.site.port), timeout=20)
    with endless, suppress(ConnectionError):
        endless.sendall(head)
        while endless.recv(65536):
            pass
    assert memory_of(bridge.site, "VmHWM") - before < ORDINARY_GROWTH
    assert bridge.site.request("GET", "/healthz").status == 200


# ---- too deep --------------------------------------------------------------------------------------------

DEPTHS = {
    "brackets": lambda depth: b"[" * depth,
    "closed brackets": lambda depth: b"[" * depth + b"]" * depth,
    "objects": lambda depth: b'{"questions":' * (depth // 13) + b"1" + b"}" * (depth // 13),
    "in a field": lambda depth: b'{"questions":' + b"[" * depth + b"]" * depth + b"}",
    "in a string": lambda depth: json.dumps({"questions": "[" * depth + "]" * depth}).encode(),
    "in a string in a string": lambda depth: json.dumps({"questions": json.dumps("[" * depth)}).encode(),
}


@pytest.mark.parametrize("make", DEPTHS.values(), ids=DEPTHS.keys())
@pytest.mark.parametrize("depth", [500, 900, 990, 30_000])
def test_deep_json_is_refused(agent: Agent, make: Callable[[int], bytes], depth: int) -> None:
    for path in ("questions", "questions?wait=1", "messages", "hooks/claude-code"):
        reply = agent.site.request("POST", f"{agent.path}/{path}", body=make(depth), headers=agent.headers())
        if path.startswith("hooks") and reply.status == 200:
            assert reply.json() == {}  # JSON, but no envelope
        else:
            assert reply.status in (400, 422), reply.text
            assert reply.headers["Content-Type"] == "application/problem+json"


def test_a_hundred_thousand_brackets_are_too_large_to_be_read(agent: Agent) -> None:
    reply = agent.site.request(
        "POST", f"{agent.path}/questions", body=b"[" * 100_000, headers=agent.headers()
    )
    assert_problem(reply, 413, "too_large")


# ---- too fast --------------------------------------------------------------------------------------------


def test_an_agent_in_a_loop_is_told_to_wait(agent: Agent) -> None:
    """Six hundred a minute, for questions and messages each; who reads and answers is not held up."""
    with closing(agent.site.connect()) as connection:
        statuses = [_post(connection, agent, {"content": "again"}) for _ in range(601)]
    assert statuses[:600] == [201] * 600
    assert statuses[600] == 429
    refused = agent.call("POST", f"{agent.path}/messages", {"content": "again"})
    assert_problem(refused, 429, "too_many_requests")
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    question = agent.ask()
    assert agent.read(question["id"])["status"] == "open"


def _post(connection: HTTPConnection, agent: Agent, body: Any) -> int:
    encoded = json.dumps(body, ensure_ascii=False).encode()
    connection.request("POST", f"{agent.path}/messages", body=encoded, headers=agent.headers())
    response = connection.getresponse()
    response.read()
    return response.status


# ---- too slow --------------------------------------------------------------------------------------------


class Dribble:
    """Connections that say what they have to say one byte a second."""

    def __init__(self, site: Site, texts: list[bytes]) -> None:
        self._connections = [socket.create_connection(("127.0.0.1", site.port)) for _ in texts]
        self._texts = [iter(text) for text in texts]
        self._enough = Event()
        self._thread = Thread(target=self._dribble, daemon=True)
        self._thread.start()

    def _dribble(self) -> None:
        while not self._enough.wait(1):
            for connection, text in zip(self._connections, self._texts, strict=True):
                connection.send(bytes([next(text)]))

    def close(self) -> None:
        self._enough.set()
        self._thread.join()
        for connection in self._connections:
            connection.close()


def test_a_hundred_slow_clients_delay_no_other(bridge: Bridge, agent: Agent) -> None:
    ana = bridge.person()
    body = json.dumps(agent.question_body()).encode()
    head = "".join(f"{name}: {value}\r\n" for name, value in agent.headers().items())
    head = f"POST {agent.path}/questions HTTP/1.1\r\nHost: localhost\r\n{head}Content-Length: {len(body)}"
    half = f"{head}\r\n\r\n".encode() + body[: len(body) // 2]
    with ExitStack() as stack:
        headers = Dribble(bridge.site, [b"GET / HTTP/1.1\r\nX-Slow: " + b"x" * 1000] * 50)
        stack.callback(headers.close)
        for _ in range(50):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", bridge.site.port)))
            connection.sendall(half)
        seconds = []
        for _ in range(10):
            started = time.monotonic()
            question = agent.ask()
            with agent.waiting(question["id"]) as wait:
                assert ana.get(f"/rooms/{agent.room}").status == 200
                ana.answer(question, "SQLite")
                assert wait.result()["status"] == "answered"
            seconds.append(time.monotonic() - started)
        assert sorted(seconds)[5] < PROMPT_SECONDS, seconds
    assert agent.open_questions() == [], "half a question is none"


# ---- never reading ---------------------------------------------------------------------------------------

SILENT_READERS = 8
MESSAGES = 150
# What a character of a message becomes on its way: `&amp;` on a page, `\\u00e9` in JSON.
GROWING = {"people": ("&", 5), "agents": ("é", 6)}
LENGTH = 16_000
MESSAGES_AHEAD = 5


class SilentReader:
    """A client that opens a stream and then reads no byte of it."""

    def __init__(self, site: Site, path: str, headers: dict[str, str]) -> None:
        self.socket = socket.socket()
        # A small window, so that little is on its way in the kernel.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
        self.socket.connect(("127.0.0.1", site.port))
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode())
        self.socket.settimeout(20)
        assert b" 200 " in self.socket.recv(64)

    def was_dropped_before(self, limit: int) -> bool:
        """When it reads at last, the connection ends before so many bytes."""
        count = 0
        with suppress(ConnectionError):
            while (part := self.socket.recv(65536)) and count < limit:
                count += len(part)
        return count < limit


@pytest.mark.parametrize("who", ["people", "agents"])
def test_readers_that_never_read_are_dropped(bridge: Bridge, agent: Agent, who: str) -> None:
    ana = bridge.person()
    if who == "agents":
        path, headers = f"{agent.path}/events", agent.headers()
    else:
        path, headers = f"/rooms/{agent.room}/stream", ana._headers({})
    character, growth = GROWING[who]
    sent = MESSAGES * LENGTH * growth
    with ExitStack() as stack:
        silent = [SilentReader(bridge.site, path, headers) for _ in range(SILENT_READERS)]
        for reader in silent:
            stack.enter_context(reader.socket)
        watched = stack.enter_context(closing(Watched(ana, agent.room)))
        before = memory_of(bridge.site)
        forget_the_most(bridge.site)
        with closing(bridge.site.connect()) as connection:
            for number in range(1, MESSAGES + 1):
                # Log lines are escaped and nothing else, so that this is about sending them.
                assert _post(connection, agent, {"content": character * LENGTH, "type": "log"}) == 201
                # A client that reads gets all of it; on a busy machine the test waits for it.
                watched.wait_for(number - MESSAGES_AHEAD)
        watched.wait_for(MESSAGES)
        grown = memory_of(bridge.site, "VmHWM") - before
        # Without a bound it would be all that was sent, for every one of them.
        assert grown < SILENT_READERS * 2 * MEBIBYTE + 2 * ORDINARY_GROWTH < SILENT_READERS * sent
        for reader in silent:
            assert reader.was_dropped_before(sent)


class Watched:
    """A page that reads its stream and counts what is in it."""

    def __init__(self, person: Person, room: str) -> None:
        self.entries = 0
        self._stack = ExitStack()
        self._stream = self._stack.enter_context(person.stream(room))
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with suppress(OSError, ValueError, AttributeError):
            while event := self._stream.read():
                self.entries += event.event == "entry"

    def wait_for(self, entries: int) -> None:
        eventually(lambda: self.entries >= entries, 30)

    def close(self) -> None:
        with suppress(OSError):  # ended by the site
            self._stream._socket.shutdown(socket.SHUT_RDWR)  # a mere close would not wake the reader
        self._thread.join()
        self._stack.close()


# ---- reading slowly --------------------------------------------------------------------------------------


def test_a_large_file_waits_for_its_reader(bridge: Bridge, agent: Agent) -> None:
    """A slow client gets its whole export, and the server does not buffer it meanwhile."""
    ana = bridge.person()
    options = [{"label": f"Option {number}", "preview": "x" * 7_500} for number in range(4)]
    prompts = [{"question": text, "options": options} for text in ("Which?", "And which?")]
    for _ in range(160):
        question = agent.ask(questions=prompts)
        agent.call("DELETE", f"/api/v1/questions/{question['id']}")
    before = memory_of(bridge.site)
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        reader.connect(("127.0.0.1", bridge.site.port))
        cookies = "; ".join(f"{name}={value}" for name, value in ana.cookies.items())
        path = f"/history/export.json?room={agent.room}"
        reader.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\nCookie: {cookies}\r\n\r\n".encode())
        received = reader.recv(1)
        for _ in range(30):
            assert ana.get(f"/rooms/{agent.room}").status == 200
        grown = memory_of(bridge.site) - before
        while part := reader.recv(256 * 1024):
            received += part
    body = received.partition(b"\r\n\r\n")[2]
    assert len(json.loads(body)) == 160
    assert len(body) > 9_000_000
    assert grown < 60_000_000, f"{grown:,} bytes"
