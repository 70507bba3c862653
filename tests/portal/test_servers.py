"""The ASGI servers of docs/portal.md: waits and streams work on each, and end politely at a stop.

They are started with the commands of its table; without the option that limits a stop, unless that is tested.
"""

import os
import re
import shlex
import shutil
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.harness.http import EventStream, Reply
from tests.harness.metrics import value
from tests.harness.people import Person
from tests.harness.sites import ROOT
from tests.harness.timing import PATIENCE_SECONDS, Stopwatch, eventually
from tests.portal.portals import Host, Portal, prepare, running_host

APPLICATION = "mysite.asgi:application"
# The rows of the table: server, command, and what a client that does not read does to a stop.
ROWS = {
    server.lower(): (shlex.split(command), delay)
    for server, command, delay in re.findall(
        r"^\| (\w+) \| `(.+? mysite\.asgi:application)`[^|]* \| (.+) \|$",
        (ROOT / "docs" / "portal.md").read_text(),
        re.MULTILINE,
    )
}
# Where it listens, which is for each portal to say.
ADDRESSES = {
    "daphne": ["-b", "127.0.0.1", "-p", "PORT"],
    "uvicorn": ["--port", "PORT"],
    "hypercorn": ["--bind", "127.0.0.1:PORT"],
    "granian": ["--port", "PORT"],
    # Its control socket would be in the home folder.
    "gunicorn": ["--bind", "127.0.0.1:PORT", "--no-control-socket"],
}
# The option that limits how long a stop waits for clients.
LIMITS = {
    "uvicorn": "--timeout-graceful-shutdown",
    "granian": "--workers-kill-timeout",
    "gunicorn": "--graceful-timeout",
}


def documented(server: str, *, with_limit: bool = False) -> list[str]:
    """Its command in the table, up to the application."""
    (program, *arguments), _ = ROWS[server]
    arguments.remove(APPLICATION)
    if server in LIMITS and not with_limit:
        option = arguments.index(LIMITS[server])
        del arguments[option : option + 2]
    return ["-m", program, *arguments, *ADDRESSES[server]]


UVICORN, HYPERCORN, GRANIAN = map(documented, ("uvicorn", "hypercorn", "granian"))
SERVERS = {
    "daphne": documented("daphne"),
    "uvicorn": [*UVICORN, "--loop", "asyncio", "--http", "h11"],
    "uvicorn with uvloop": [*UVICORN, "--loop", "uvloop", "--http", "httptools"],
    # The application is in a worker process, which gets no signal.
    "hypercorn": HYPERCORN,
    "hypercorn with uvloop, without workers": [*HYPERCORN, "--worker-class", "uvloop", "--workers", "0"],
    "granian": [*GRANIAN, "--loop", "asyncio"],
    "granian with uvloop": [*GRANIAN, "--loop", "uvloop"],
    "gunicorn": documented("gunicorn"),
}

# Of each kind of open request.
DOZEN = 12
# A promise to agents: from the signal to the reply of the last one.
REPLY_SECONDS = 5
# Supervisors wait at least this long before they kill.
EXIT_SECONDS = 10
# Together more than the kernel and the server keep for a viewer that does not read: 3 to 4 MB.
CARDS = 60
LONG_PROMPTS = [
    {
        "question": f"Which of {names}?",
        "options": [{"label": name, "preview": "long " * 1_500} for name in names],
    }
    for names in ("ABCD", "EFGH")
]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The data of a host that no server has run on yet, and the key of its agent."""
    data = tmp_path_factory.mktemp("prepared")
    return data, prepare("observed", data)


@pytest.fixture(scope="module", params=SERVERS)
def host(
    request: pytest.FixtureRequest, prepared: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Host]:
    with host_on(SERVERS[request.param], prepared, tmp_path_factory.mktemp("host")) as running:
        yield running


def host_on(server: list[str], prepared: tuple[Path, str], data: Path) -> AbstractContextManager[Host]:
    prototype, key = prepared
    shutil.copytree(prototype, data, dirs_exist_ok=True)
    return running_host("observed", data, [*server, "tests.portal.hosts.asgi:application"], key=key)


@pytest.fixture(scope="module")
def ana(host: Host) -> Person:
    return host.person("ana")


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    executor = ThreadPoolExecutor(8 * DOZEN)
    yield executor
    # After a failure some requests are still open: they end with the server.
    executor.shutdown(wait=False, cancel_futures=True)


def streams(portal: Portal) -> float:
    return value(portal, "ask_bridge_page_streams")


# ---- while it serves -----------------------------------------------------------------------------


def test_every_open_request_gets_what_it_waits_for(host: Host, ana: Person, pool: ThreadPoolExecutor) -> None:
    agent = host.agent
    last = agent.send("the last message so far")["id"]
    with ana.stream("lobby") as page, agent.events() as events:
        poll = pool.submit(agent.get, f"{agent.messages_url}?after={last}&wait=50")
        with agent.asking(wait=50) as asking:
            assert "Which database?" in page.until("question").data
            (question,) = agent.open_questions()
            assert poll.result().json()["messages"][0]["id"] == question["id"]
            with agent.waiting(question["id"]) as waiting:
                eventually(lambda: value(host.portal, "ask_bridge_waiting_agents") == 2)
                assert not asking.has_begun  # it is held, not answered with nothing
                ana.answer(question, "SQLite")
                assert asking.result()["status"] == waiting.result()["status"] == "answered"
        assert "Answered by you" in page.until(f"card-{question['id']}").data
        assert events.next()["id"] == question["id"]


def test_a_client_that_disconnects_is_noticed(host: Host, ana: Person) -> None:
    agent = host.agent
    question = agent.ask()
    with ana.stream("lobby") as page:
        with agent.waiting(question["id"]):
            eventually(lambda: agent.read(question["id"])["agent"]["active"])
            page.until(f"marks-{question['id']}", "Waiting")
        # Long before its lease ends.
        eventually(lambda: not agent.read(question["id"])["agent"]["active"])
        page.until(f"marks-{question['id']}", "Agent left")
    eventually(lambda: streams(host.portal) == 0)


def test_viewers_that_stop_reading_or_reset_do_not_disturb_the_others(
    host: Host, ana: Person, pool: ThreadPoolExecutor
) -> None:
    with ana.stream("lobby") as one, host.person("ben").stream("lobby") as other:
        seen = [pool.submit(cards, stream) for stream in (one, other)]
        with viewer_that_does_not_read(host.portal, ana), viewer_that_does_not_read(host.portal, ana) as lost:
            eventually(lambda: streams(host.portal) == 4)
            asked = []
            for number in range(CARDS):
                asked.append(host.agent.ask(questions=LONG_PROMPTS)["id"])
                if number == CARDS - 10:
                    # Closed with a reset instead of an orderly end.
                    lost.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    lost.close()
            for future in seen:
                assert future.result() == asked
            eventually(lambda: streams(host.portal) == 3)
    eventually(lambda: streams(host.portal) == 0)


def cards(stream: EventStream) -> list[str]:
    """The ids of the next cards, in the order of their first appearance."""
    found: dict[str, None] = {}
    revision = 0
    while len(found) < CARDS:
        event = stream.until("question")
        assert int(event.id) >= revision, "an older event after a newer one"
        revision = int(event.id)
        (question,) = re.findall(r'id="card-(\w+)"', event.data)
        found[question] = None
    return list(found)


@contextmanager
def viewer_that_does_not_read(portal: Portal, person: Person) -> Iterator[socket.socket]:
    """A page stream of which only the status is read, with as little room for the rest as there can be."""
    cookies = "; ".join(f"{name}={value}" for name, value in person.cookies.items())
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(30)
        connection.connect(("127.0.0.1", portal.port))
        connection.sendall(
            f"GET {portal.prefix}/rooms/lobby/stream HTTP/1.1\r\n"
            f"Host: 127.0.0.1\r\nCookie: {cookies}\r\n\r\n".encode()
        )
        assert connection.recv(12, socket.MSG_WAITALL) == b"HTTP/1.1 200"
        yield connection


# ---- at a stop -----------------------------------------------------------------------------------


class Load:
    """A dozen open requests of each kind, read to their end by threads."""

    def __init__(self, host: Host, ana: Person, pool: ThreadPoolExecutor, questions: list[str]) -> None:
        self.portal = host.portal
        agent = host.agent

        def repeat(call: Callable[..., Reply], *arguments: Any) -> list[Any]:
            return [pool.submit(timed, call, *arguments) for _ in questions]

        self.asks = repeat(agent.post, f"{agent.questions_url}?wait=55", agent.question_body())
        self._wait_for(waiting_agents=DOZEN)
        last = agent.send("the last message so far")["id"]
        self.waits = [pool.submit(timed, agent.get, f"{agent.question_url(id)}?wait=55") for id in questions]
        self.polls = repeat(agent.get, f"{agent.messages_url}?after={last}&wait=55")
        self.streams = [
            *repeat(agent.get, f"{agent.path}/events"),
            *repeat(ana.get, f"{self.portal.prefix}/rooms/lobby/stream"),
            *repeat(ana.get, f"{self.portal.prefix}/stream"),
        ]
        self._wait_for(waiting_agents=2 * DOZEN, listening_agents=2 * DOZEN, page_streams=2 * DOZEN)

    def _wait_for(self, **counts: int) -> None:
        for name, count in counts.items():
            eventually(lambda name=name, count=count: value(self.portal, f"ask_bridge_{name}") == count, 30)

    def stop(self, send_signal: Callable[[], None]) -> float:
        """Stop the server and check every reply; returns the seconds until the last one."""
        begun = time.monotonic()
        send_signal()
        replies = {
            kind: [request.result(60) for request in getattr(self, kind)]
            for kind in ("waits", "polls", "asks", "streams")
        }
        for reply, _ in (*replies["waits"], *replies["polls"]):
            assert (reply.status, reply.json()["code"]) == (503, "shutting_down")
            assert int(reply.headers["Retry-After"]) > 0
        for reply, _ in replies["asks"]:
            assert (reply.status, reply.json()["status"]) == (201, "open")
        for reply, _ in replies["streams"]:
            # A body in chunks that was cut off would have failed to be read.
            assert (reply.status, reply.headers["Transfer-Encoding"]) == (200, "chunked")
        return max(ended for all_of_kind in replies.values() for _, ended in all_of_kind) - begun


def timed(call: Callable[..., Reply], *arguments: Any) -> tuple[Reply, float]:
    """The reply, and when it was read to its end."""
    reply = call(*arguments)
    return reply, time.monotonic()


def sigterm(portal: Portal) -> None:
    portal.process.terminate()


def sigterm_to_workers_too(portal: Portal) -> None:
    """As systemd does by default; some servers then send a second signal to their workers."""
    os.killpg(portal.process.pid, signal.SIGTERM)


@pytest.mark.parametrize("send_signal", [sigterm, sigterm_to_workers_too])
def test_a_stop_answers_every_open_request_and_the_next_process_goes_on(
    host: Host, ana: Person, pool: ThreadPoolExecutor, send_signal: Callable[[Portal], None]
) -> None:
    questions = [host.agent.ask()["id"] for _ in range(DOZEN)]

    def is_prompt() -> bool:
        load = Load(host, ana, pool, questions)
        stopwatch = Stopwatch()
        reply_seconds = load.stop(lambda: send_signal(host.portal))
        host.portal.process.wait(60)
        exit_seconds = stopwatch.seconds
        print(f"last reply after {reply_seconds:.2f} s, exit after {exit_seconds:.2f} s")
        host.portal.start()
        return reply_seconds < REPLY_SECONDS and exit_seconds < EXIT_SECONDS

    # Other work of the machine may disturb one stop, not three.
    assert any(is_prompt() for _ in range(3))

    waits = [pool.submit(host.agent.wait, question, 50) for question in questions]
    eventually(lambda: value(host.portal, "ask_bridge_waiting_agents") == DOZEN)
    for question in questions:
        ana.answer({"room": "lobby", "id": question}, "SQLite")
    for wait in waits:
        assert wait.result()["answer"]["answers"][0]["selectedOptions"] == ["SQLite"]


def test_a_request_that_the_host_is_just_checking_is_answered_at_a_stop(
    host: Host, pool: ThreadPoolExecutor
) -> None:
    agent, portal = host.agent, host.portal
    barrier = Path(host.environment["HOST_DATA"], "barrier")
    barrier.mkdir()
    question = agent.ask()["id"]
    wait = pool.submit(agent.get, f"{agent.question_url(question)}?wait=55", Wait_At_Barrier="here")
    eventually((barrier / "here").exists)
    with agent.events() as events:
        # As Ctrl+C in a terminal, which sends it to all processes.
        os.killpg(portal.process.pid, signal.SIGINT)
        # The stop has begun, and has answered all others.
        events.wait_for_end(EXIT_SECONDS)
    shutil.rmtree(barrier)
    reply = wait.result()
    assert (reply.status, reply.json()["code"]) == (503, "shutting_down")
    portal.process.wait(EXIT_SECONDS)
    portal.start()


def test_nothing_went_wrong_unseen(host: Host) -> None:
    log = host.portal.log.read_text()
    for sign in ("Traceback", "ERROR", "Exception", "never awaited", "was destroyed", "took too long"):
        assert sign not in log, log


def test_each_server_of_the_table_is_stopped_here() -> None:
    assert ROWS.keys() == ADDRESSES.keys() == {server.partition(" ")[0] for server in SERVERS}
    assert {server for server, (command, _) in ROWS.items() if LIMITS.get(server, "") in command} == set(
        LIMITS
    )


@pytest.mark.parametrize("server", ROWS)
def test_a_viewer_that_does_not_read_delays_a_stop_as_the_table_says(
    server: str, prepared: tuple[Path, str], tmp_path: Path
) -> None:
    _, delay = ROWS[server]
    told = re.search(r"(\d+) seconds", delay)
    with (
        host_on(documented(server, with_limit=True), prepared, tmp_path) as host,
        viewer_that_does_not_read(host.portal, host.person("ana")) as viewer,
    ):
        eventually(lambda: streams(host.portal) == 1)
        for _ in range(CARDS):
            question = host.agent.ask(questions=LONG_PROMPTS)["id"]
        with host.agent.waiting(question) as waiting:
            eventually(lambda: value(host.portal, "ask_bridge_waiting_agents") == 1)
            host.portal.process.terminate()
            assert waiting.reply().status == 503
        if delay.startswith("until they leave") and sys.version_info >= (3, 12):
            viewer.close()
        # Long enough for a busy machine, and not without end.
        host.portal.process.wait((int(told[1]) if told else 0) + 6 * PATIENCE_SECONDS)
