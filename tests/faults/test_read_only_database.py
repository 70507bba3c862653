"""A running site whose database refuses writes for a while."""

import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bridge_client import Client, ClientError, ProblemError
from tests.harness.agents import Agent
from tests.harness.people import Visitor
from tests.harness.read_only_databases import set_read_only
from tests.harness.sites import START_SECONDS, Site
from tests.harness.timing import eventually

# Room for the database of a site in use for some minutes, and soon full.
DISK_MEGABYTES = 8
# The agents of this test are patient, the machine may be slow.
PATIENCE_SECONDS = 2 * START_SECONDS


def first_agent(site: Site) -> Agent:
    return Agent(site, "lobby", re.findall(r"KEY=(\S+)", site.printed)[0])


def password_of(site: Site) -> str:
    return re.findall(r"Password +(\S+)", site.printed)[0]


def says_cannot_write(site: Site) -> bool:
    ready = site.request("GET", "/readyz")
    assert site.request("GET", "/healthz").status == 200
    return ready.status == 503 and ready.json()["database"] == "cannot_write"


def is_ready(site: Site) -> bool:
    return site.request("GET", "/readyz").status == 200


@contextmanager
def asking(agent: Agent) -> Iterator[threading.Event]:
    """A client that asks and tries again; set when it was refused once. In the end it has asked."""
    was_refused = threading.Event()
    errors: list[ClientError] = []

    def note(error: ClientError) -> None:
        errors.append(error)
        was_refused.set()

    client = Client(
        f"http://127.0.0.1:{agent.site.port}",
        agent.key,
        agent.room,
        patience_seconds=PATIENCE_SECONDS,
        on_retry=note,
    )
    asked: list[str] = []
    thread = threading.Thread(
        target=lambda: asked.append(client.ask({"question": "Go on?", "options": ["Yes", "No"]}).id)
    )
    thread.start()
    yield was_refused
    thread.join(PATIENCE_SECONDS)
    assert asked
    assert asked[0] in [question["id"] for question in agent.open_questions()]
    assert isinstance(errors[0], ProblemError)
    assert (errors[0].status, errors[0].code) == (503, "cannot_write")


# ---- PostgreSQL ------------------------------------------------------------------------------------------


def test_a_read_only_postgres_is_said_and_clients_get_through_afterwards(
    serve: Callable[..., Site], postgres_and_redis: dict[str, str]
) -> None:
    site = serve(**postgres_and_redis)
    agent = first_agent(site)
    agent.ask()
    set_read_only(postgres_and_redis["DATABASE_URL"], True)
    eventually(lambda: says_cannot_write(site), START_SECONDS)

    refused = agent.call("POST", f"{agent.path}/questions", agent.question_body())
    assert (refused.status, refused.json()["code"]) == (503, "cannot_write")
    assert int(refused.headers["Retry-After"]) > 0
    waiting = agent.call("POST", f"{agent.path}/questions?wait=1", agent.question_body())
    assert (waiting.status, waiting.json()["code"]) == (503, "cannot_write")

    login = Visitor(site).post("/login/", {"username": "admin", "password": password_of(site)})
    assert login.status == 503
    assert "The database is read-only." in login.text

    with asking(agent) as was_refused:
        assert was_refused.wait(START_SECONDS)
        set_read_only(postgres_and_redis["DATABASE_URL"], False)
    eventually(lambda: is_ready(site), START_SECONDS)
    login = Visitor(site).post("/login/", {"username": "admin", "password": password_of(site)})
    assert login.status == 302


# ---- SQLite ----------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("needs the right to mount a file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 4096):
                pass
        except OSError:
            return  # no byte is left


def test_a_full_disk_is_said_and_clients_get_through_afterwards(
    serve: Callable[..., Site], small_disk: Path
) -> None:
    site = serve(DATA_DIR=str(small_disk / "data"))
    agent = first_agent(site)
    agent.ask()
    ballast = small_disk / "ballast"
    fill(ballast)

    def refused() -> bool:
        # The log of SQLite may have room for a few more.
        reply = agent.call("POST", f"{agent.path}/questions", agent.question_body())
        return reply.status == 503 and reply.json()["code"] == "cannot_write"

    eventually(refused, START_SECONDS)
    assert says_cannot_write(site)
    assert agent.open_questions()
    with asking(agent) as was_refused:
        assert was_refused.wait(START_SECONDS)
        ballast.unlink()
    eventually(lambda: is_ready(site), START_SECONDS)
