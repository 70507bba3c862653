"""Under WSGI nothing waits and nothing hangs: pages and agents look again, and requests sweep."""

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from rooms.pages.stream import POLL_SECONDS
from tests.harness.people import Person
from tests.harness.timing import eventually
from tests.portal.portals import RUNSERVER, Host, running_host

AT_ONCE_SECONDS = 10  # far less than any wait that is asked for here


GUNICORN = ["-m", "gunicorn", "--bind", "127.0.0.1:PORT", "--no-control-socket", "tests.portal.hosts.wsgi"]
SERVERS = {"runserver": RUNSERVER, "gunicorn": GUNICORN}


@pytest.fixture(scope="module", params=SERVERS)
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with running_host("plain", tmp_path_factory.mktemp("wsgi"), SERVERS[request.param]) as running:
        yield running


@pytest.fixture(scope="module")
def ana(host: Host) -> Person:
    return host.person("ana")


def test_a_wait_is_answered_at_once_with_what_is_there(host: Host, ana: Person) -> None:
    began = time.monotonic()
    question = host.agent.ask()
    assert host.agent.wait(question["id"], 50)["status"] == "open"
    assert "Waiting" in ana.get("/ask/rooms/lobby").text
    ana.answer(question, "SQLite")
    assert host.agent.wait(question["id"], 50)["status"] == "answered"
    assert "delivered_at" in host.agent.read(question["id"])
    assert time.monotonic() - began < AT_ONCE_SECONDS


def test_a_stream_tells_what_is_new_and_ends(host: Host, ana: Person) -> None:
    address = re.search(r'sse-connect="([^"]+)"', ana.get("/ask/rooms/lobby").text)
    assert address
    path = address.group(1).replace("&amp;", "&")
    assert ana.get(path).text == ""
    question = host.agent.ask()
    reply = ana.get(path)
    assert reply.headers["Retry-After"] == str(POLL_SECONDS)
    assert reply.headers["Content-Type"].startswith("text/event-stream")
    assert f'id="card-{question["id"]}"' in reply.text
    assert "event: count-lobby" in reply.text
    assert ana.post(path, {"since": "lobby:0"}).text.count("event: question") >= 1


def test_a_stream_is_for_members(host: Host) -> None:
    assert host.portal.request("GET", "/ask/stream").status == 401
    assert host.person("ben").get("/ask/rooms/nowhere/stream").status == 404


def test_a_deadline_passes_with_the_next_request(host: Host) -> None:
    question = host.agent.ask(timeout_seconds=1)
    assert eventually(lambda: host.agent.read(question["id"])["status"] == "expired")


@pytest.mark.parametrize("host", ["runserver"], indirect=True)  # it serves the scripts
def test_an_open_page_follows_by_asking(host: Host, ana: Person, chromium: Browser) -> None:
    site = f"http://127.0.0.1:{host.portal.port}"
    context = chromium.new_context(base_url=site)
    context.add_cookies([{"name": name, "value": value, "url": site} for name, value in ana.cookies.items()])
    page = context.new_page()
    page.goto("/ask/rooms/lobby")
    question = host.agent.ask()
    card = page.locator(f"#card-{question['id']}")
    expect(page.locator("#ab-polling")).to_contain_text("There are no live updates here")
    expect(page.locator("#ab-polling")).to_be_visible()
    patience = (POLL_SECONDS + 5) * 1000
    expect(card).to_be_visible(timeout=patience)
    host.person("ben").answer(question, "PostgreSQL")
    expect(card).to_contain_text("Answered by ben", timeout=patience)
    # Nothing is lost between two questions, and no banner says otherwise.
    expect(page.locator("#ab-connection")).to_be_hidden()
    context.close()


def test_nothing_went_wrong_unseen(host: Host) -> None:
    assert "Traceback" not in host.portal.log.read_text()
