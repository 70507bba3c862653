"""Under WSGI nothing waits and nothing hangs: pages and agents look again, and requests sweep."""

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from rooms.wsgi import POLL_SECONDS
from tests.harness.people import Person
from tests.harness.timing import eventually
from tests.portal.portals import WSGI_SERVER, World, host

AT_ONCE_SECONDS = 10  # far less than any wait that is asked for here


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with host("plain", tmp_path_factory.mktemp("wsgi"), WSGI_SERVER) as running:
        yield running


@pytest.fixture(scope="module")
def ana(world: World) -> Person:
    return world.person("ana")


def test_a_wait_is_answered_at_once_with_what_is_there(world: World, ana: Person) -> None:
    began = time.monotonic()
    question = world.agent.ask()
    assert world.agent.wait(question["id"], 50)["status"] == "open"
    assert "Agent waiting" in ana.get("/ask/rooms/lobby").text
    ana.answer(question, "SQLite")
    assert world.agent.wait(question["id"], 50)["status"] == "answered"
    assert "delivered_at" in world.agent.read(question["id"])
    assert time.monotonic() - began < AT_ONCE_SECONDS


def test_a_stream_tells_what_is_new_and_ends(world: World, ana: Person) -> None:
    address = re.search(r'sse-connect="([^"]+)"', ana.get("/ask/rooms/lobby").text)
    assert address
    path = address.group(1).replace("&amp;", "&")
    assert ana.get(path).text == ""
    question = world.agent.ask()
    reply = ana.get(path)
    assert reply.headers["Retry-After"] == str(POLL_SECONDS)
    assert reply.headers["Content-Type"].startswith("text/event-stream")
    assert f'id="card-{question["id"]}"' in reply.text
    assert "event: count-lobby" in reply.text
    assert ana.post(path, {"since": "lobby:0"}).text.count("event: question") >= 1


def test_a_stream_is_for_members(world: World) -> None:
    assert world.portal.request("GET", "/ask/stream").status == 401
    assert world.person("ben").get("/ask/rooms/nowhere/stream").status == 404


def test_a_deadline_passes_with_the_next_request(world: World) -> None:
    question = world.agent.ask(timeout_seconds=1)
    assert eventually(lambda: world.agent.read(question["id"])["status"] == "expired")


def test_an_open_page_follows_by_asking(world: World, ana: Person, chromium: Browser) -> None:
    site = f"http://127.0.0.1:{world.portal.port}"
    context = chromium.new_context(base_url=site)
    context.add_cookies([{"name": name, "value": value, "url": site} for name, value in ana.cookies.items()])
    page = context.new_page()
    page.goto("/ask/rooms/lobby")
    question = world.agent.ask()
    card = page.locator(f"#card-{question['id']}")
    patience = (POLL_SECONDS + 5) * 1000
    expect(card).to_be_visible(timeout=patience)
    world.person("ben").answer(question, "PostgreSQL")
    expect(card).to_contain_text("Answered by ben@x.org", timeout=patience)
    # Nothing is lost between two questions, and nobody is told so.
    expect(page.locator("#connection")).to_be_hidden()
    context.close()


def test_nothing_went_wrong_unseen(world: World) -> None:
    assert "Traceback" not in world.portal.log.read_text()
