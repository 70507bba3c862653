"""The site as it is deployed: two processes in production settings behind nginx with our configuration."""

import gzip
import json
import re
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection, HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from bridge_client.client import Client
from tests.harness.agents import Agent
from tests.harness.nginx import NAME, Deployment, Nginx, SecurePerson, deployment, read_until
from tests.harness.sites import free_port
from tests.harness.timing import PATIENCE_SECONDS, Stopwatch, best_of, eventually

# Buffered, an event would come with the next comment, up to 15 seconds later.
AT_ONCE_SECONDS = 0.5
TRIES = 5
WAITS = 20
BODY_LIMIT = 64 * 1024


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployment(tmp_path_factory.mktemp("deployed"), rooms=40) as running:
        yield running


@pytest.fixture
def front(deployed: Deployment) -> Nginx:
    return deployed.front


@pytest.fixture
def agent(deployed: Deployment) -> Agent:
    return deployed.agent()


@pytest.fixture(scope="module")
def person(deployed: Deployment) -> SecurePerson:
    return deployed.person()


@pytest.fixture
def client(front: Nginx, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> Client:
    """The real client, which trusts the test's certificate."""
    monkeypatch.setenv("SSL_CERT_FILE", str(front.certificate))
    monkeypatch.setenv("NO_PROXY", NAME)
    return Client(front.url, agent.key, agent.room)


def fetch(connection: HTTPConnection, path: str, **headers: str) -> tuple[int, HTTPMessage, bytes]:
    with closing(connection):
        connection.request(
            "GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()}
        )
        response = connection.getresponse()
        return response.status, response.headers, response.read()


def wait_until_held(agent: Agent, count: int) -> None:
    eventually(lambda: sum(each["agent"]["active"] for each in agent.open_questions()) == count)


# ---- streams and waits -------------------------------------------------------------------------------------


def test_first_event_of_a_page_comes_at_once(agent: Agent, person: SecurePerson) -> None:
    agent.ask()

    def open_page() -> float:
        watch = Stopwatch()
        with person.stream(agent.room, since=0) as stream:
            stream.next()
            return watch.seconds

    assert best_of(TRIES, open_page) < AT_ONCE_SECONDS


@pytest.mark.parametrize("is_inbox", [False, True], ids=["room", "all rooms"])
def test_a_question_reaches_the_page_at_once(agent: Agent, person: SecurePerson, is_inbox: bool) -> None:
    with person.stream(None if is_inbox else agent.room) as stream:

        def ask() -> float:
            watch = Stopwatch()
            question = agent.ask()
            while question["id"] not in stream.next().data:
                pass
            return watch.seconds

        assert best_of(TRIES, ask) < AT_ONCE_SECONDS


def test_a_question_reaches_a_listening_agent_at_once(agent: Agent) -> None:
    with agent.events() as stream:

        def ask() -> float:
            watch = Stopwatch()
            question = agent.ask()
            while stream.next()["id"] != question["id"]:
                pass
            return watch.seconds

        assert best_of(TRIES, ask) < AT_ONCE_SECONDS


def test_an_answer_reaches_waits_on_both_processes(
    deployed: Deployment, agent: Agent, person: SecurePerson
) -> None:
    question = agent.ask()
    path = f"/api/v1/questions/{question['id']}?wait=50"
    with agent.waiting(question["id"]) as one:
        deployed.wait_until_waiting(0, 1)  # so nginx knows who has less to do
        with agent.waiting(question["id"]) as other:
            deployed.wait_until_waiting(1, 1)
            person.answer(question, "SQLite")
            for wait in (one, other):
                assert wait.result()["answer"]["answers"][0]["selectedOptions"] == ["SQLite"]
    # Whichever process took the answer: one of the two waits was held by the other one.
    held_by = eventually(lambda: served if len(served := deployed.front.served(path)) == 2 else None)
    assert set(held_by) == {f"200 127.0.0.1:{site.port} | 200" for site in deployed.sites}


def test_an_agent_that_hangs_up_is_gone_before_its_lease_is_over(agent: Agent) -> None:
    question = agent.ask()
    with agent.waiting(question["id"]) as wait:
        wait_until_held(agent, 1)
        wait.hang_up()
        wait_until_held(agent, 0)


# ---- HTTP/2 and compression --------------------------------------------------------------------------------


def test_pages_come_over_http_2(front: Nginx) -> None:
    shown = subprocess.run(
        front.curl("/login/", "--output", "/dev/null", "--write-out", "%{http_version} %{http_code}"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == "2 200"


def test_a_question_reaches_a_page_over_http_2_at_once(
    front: Nginx, agent: Agent, person: SecurePerson
) -> None:
    cookie = f"sessionid={person.cookies['sessionid']}"
    command = front.curl(f"/rooms/{agent.room}/stream", "--cookie", cookie, "--max-time", "60")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as reading:
        assert reading.stdout
        assert reading.stdout.readline() == ": welcome\n"

        def ask() -> float:
            assert reading.stdout
            watch = Stopwatch()
            question = agent.ask()
            read_until(reading.stdout, question["id"])
            return watch.seconds

        try:
            assert best_of(TRIES, ask) < AT_ONCE_SECONDS
        finally:
            reading.terminate()


def test_pages_are_compressed(front: Nginx) -> None:
    status, headers, body = fetch(front.connect(), "/login/", Accept_Encoding="gzip")
    assert (status, headers["Content-Encoding"]) == (200, "gzip")
    assert "Accept-Encoding" in headers["Vary"]
    assert b"</html>" in gzip.decompress(body)


def test_event_streams_and_json_are_never_compressed(
    front: Nginx, agent: Agent, person: SecurePerson
) -> None:
    wanted = person._headers({"Accept-Encoding": "gzip"})
    for path, headers in (
        (f"/rooms/{agent.room}/stream", wanted),
        ("/stream", wanted),
        (f"{agent.path}/events", agent.headers() | {"Accept-Encoding": "gzip"}),
        ("/api/v1/openapi.json", {"Accept-Encoding": "gzip"}),
    ):
        with closing(front.connect()) as connection:
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            assert response.status == 200
            assert response.headers["Content-Encoding"] is None
            assert response.readline()


def test_static_files_come_from_nginx_compressed_and_for_ever(front: Nginx) -> None:
    page = front.request("GET", "/login/").text
    found = re.findall(r'(?:href|src)="(/static/[^"#]+\.(?:css|js))"', page)
    assert found
    for path in found:
        status, headers, body = fetch(front.connect(), path, Accept_Encoding="gzip")
        assert (status, headers["Content-Encoding"]) == (200, "gzip")
        assert headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert headers["Vary"] == "Accept-Encoding"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert re.match(r"(text/css|(text|application)/javascript)", headers["Content-Type"])
        assert gzip.decompress(body)
        assert eventually(lambda path=path: front.served(path)) == ["200 - | -"]


def test_a_static_file_without_a_hash_in_its_name_is_asked_for_again_soon(front: Nginx) -> None:
    status, headers, _ = fetch(front.connect(), "/static/ask_bridge/css/base.css")
    assert (status, headers["Cache-Control"]) == (200, "public, max-age=60")


@pytest.mark.parametrize(
    "path", ["/static/../secret-key", "/static/%2e%2e/secret-key", "/static../secret-key"]
)
def test_nothing_beside_the_static_files_is_served(deployed: Deployment, path: str) -> None:
    (Path(deployed.bridge.environment["DATA_DIR"]) / "secret-key").write_text("secret")
    status, _, body = fetch(deployed.front.connect(), path)
    assert status in (302, 400, 404)
    assert body != b"secret"


# ---- what is refused or not believed -----------------------------------------------------------------------


def padded(agent: Agent, size: int) -> str:
    return json.dumps(agent.question_body()).ljust(size)


def test_a_body_of_64_kib_is_taken(front: Nginx, agent: Agent) -> None:
    path = f"{agent.path}/questions"
    taken = front.request("POST", path, body=padded(agent, BODY_LIMIT), headers=agent.headers())
    assert taken.status == 201


@pytest.mark.parametrize("size", [BODY_LIMIT + 1, 5_000_000])
def test_a_larger_body_is_refused_by_nginx_in_our_shape(front: Nginx, agent: Agent, size: int) -> None:
    path = f"{agent.path}/questions?size={size}"
    refused = front.request("POST", path, body=padded(agent, size), headers=agent.headers())
    assert refused.status == 413
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert (refused.json()["status"], refused.json()["code"]) == (413, "too_large")
    assert eventually(lambda: front.served(path)) == ["413 - | -"]


def test_a_larger_body_of_unknown_length_is_refused_as_well(front: Nginx, agent: Agent) -> None:
    body = iter([padded(agent, BODY_LIMIT + 1).encode()])
    refused = front.request("POST", f"{agent.path}/questions", body=body, headers=agent.headers())
    assert (refused.status, refused.json()["code"]) == (413, "too_large")


def test_a_form_over_256_kib_is_refused(front: Nginx) -> None:
    assert front.request("POST", "/login/", body="x" * (256 * 1024 + 1)).status == 413


def test_without_tls_there_is_only_a_redirect_whatever_the_client_claims(front: Nginx) -> None:
    status, headers, _ = fetch(front.connect_without_tls(), "/login/?next=/", X_Forwarded_Proto="https")
    assert (status, headers["Location"]) == (301, f"https://{NAME}/login/?next=/")


def test_a_client_cannot_bend_what_the_site_thinks_of_its_address(front: Nginx) -> None:
    forged = {"X_Forwarded_Proto": "http", "X_Forwarded_Host": "evil.example", "Daphne_Root_Path": "/evil"}
    assert fetch(front.connect(), "/login/", **forged)[0] == 200
    status, headers, _ = fetch(front.connect(), "/", **forged)
    assert (status, headers["Location"]) == (302, "/login/?next=/")


def test_a_foreign_host_name_is_refused(front: Nginx) -> None:
    assert fetch(front.connect(), "/login/", Host="evil.example")[0] == 400


@contextmanager
def recorder() -> Iterator[tuple[int, list[HTTPMessage]]]:
    """A site that only remembers what it was sent."""
    seen: list[HTTPMessage] = []

    class Remember(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Remember) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port, seen
        server.shutdown()
        thread.join()


def test_the_site_hears_about_the_client_from_nginx_alone(tmp_path: Path) -> None:
    with recorder() as (port, seen), ExitStack() as stack:
        front = Nginx(tmp_path / "nginx", [port], tmp_path)
        stack.callback(front.end)
        forged = dict.fromkeys(
            [
                *("X-Forwarded-Proto", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Port"),
                *("X-Forwarded-Prefix", "X-Real-IP", "Forwarded", "Daphne-Root-Path", "X_Forwarded_Proto"),
            ],
            "forged",
        )
        for path in ("/", "/login/", "/stream", "/rooms/ops/stream", "/api/v1/rooms/ops/events"):
            assert front.request("GET", path, headers=forged).status == 200
        assert len(seen) == 5
        for headers in seen:
            assert headers.get_all("X-Forwarded-Proto") == ["https"]
            assert headers.get_all("X-Forwarded-For") == ["127.0.0.1"]
            assert headers.get_all("Host") == [NAME]
            assert "forged" not in headers.values()


# ---- processes that die, stop and come back ----------------------------------------------------------------


def test_without_any_process_agents_are_told_in_our_shape_when_to_come_back(tmp_path: Path) -> None:
    front = Nginx(tmp_path / "nginx", [free_port(), free_port()], tmp_path)
    try:
        away = front.request("GET", "/api/v1/questions/q_1?wait=50")
        assert (away.status, away.headers["Retry-After"]) == (503, "1")
        assert away.headers["Content-Type"] == "application/problem+json"
        assert away.json()["status"] == 503
        assert front.request("GET", "/login/").status == 502
    finally:
        front.end()


def test_when_one_process_is_killed_the_other_goes_on_with_everything(
    deployed: Deployment, agent: Agent, person: SecurePerson
) -> None:
    question = agent.ask()
    with ExitStack() as stack:
        waits = [stack.enter_context(agent.waiting(question["id"])) for _ in range(6)]
        wait_until_held(agent, 1)
        deployed.sites[0].stop(signal.SIGKILL)
        try:
            for _ in range(WAITS):
                agent.ask()
                assert person.get(f"/rooms/{agent.room}").status == 200
            # The other process holds its waits now, and no agent noticed.
            person.answer(question, "PostgreSQL")
            for wait in waits:
                reply = wait.reply()
                assert (reply.status, reply.json()["status"]) == (200, "answered")
        finally:
            deployed.start_again(0)


def test_a_restart_of_one_process_after_the_other_costs_no_waiting_agent_its_answer(
    deployed: Deployment, agent: Agent, client: Client, person: SecurePerson
) -> None:
    questions = [agent.ask() for _ in range(WAITS)]
    with ThreadPoolExecutor(WAITS) as pool:
        results = [pool.submit(client.wait, question["id"], 90) for question in questions]
        wait_until_held(agent, WAITS)
        for index, meanwhile in ((0, questions[:5]), (1, questions[5:10])):
            assert deployed.sites[index].stop()[0] == 0
            for question in meanwhile:
                person.answer(question, "SQLite")
            deployed.start_again(index)
        for question in questions[10:]:
            person.answer(question, "SQLite")
        for result in results:
            assert result.result(PATIENCE_SECONDS).choices[0].selected_options == ["SQLite"]
