"""What the middleware of a portal refuses is refused for streams and waits as well."""

import json
import secrets
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from rooms.live.routing import CONSUMERS
from tests.harness.agents import Agent
from tests.harness.http import Reply, begun_reply
from tests.harness.people import Person, Visitor
from tests.harness.sites import START_SECONDS, Site
from tests.harness.timing import PATIENCE_SECONDS, eventually
from tests.portal.portals import ASGI_SERVER, RUNSERVER, Host, running_host

Call = tuple[str, str]

# By method and URL name: the path of every call that may stay open. An admitted wait takes one second.
CALLS: dict[Call, str] = {
    ("GET", "inbox-stream"): "/stream",
    ("POST", "inbox-stream"): "/stream",
    ("GET", "room-stream"): "/rooms/lobby/stream",
    ("GET", "api-question"): "/api/v1/questions/{question}?wait=1",
    ("POST", "api-questions"): "/api/v1/rooms/lobby/questions?wait=1",
    ("GET", "api-messages"): "/api/v1/rooms/lobby/messages?wait=1&after={question}",
    ("GET", "api-events"): "/api/v1/rooms/lobby/events",
    ("POST", "api-claude-code"): "/api/v1/rooms/lobby/hooks/claude-code?timeout=1",
}
PAGE_STREAMS = [call for call in CALLS if call[1].endswith("-stream")]
ADMITTED = {call: 201 if call == ("POST", "api-questions") else 200 for call in CALLS}
# Answered before all middleware: monitoring asks for the process, not for the portal.
PROBES = {("GET", "healthz"), ("GET", "readyz")}
# Open streams of a person who lost access end within this time.
ENDED_SECONDS = 30
# For the scripts of a page in a browser.
SERVERS = {"idle_session": RUNSERVER}


@pytest.fixture(scope="module")
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    server = SERVERS.get(request.param, [*ASGI_SERVER, "tests.portal.hosts.asgi:application"])
    with running_host(request.param, tmp_path_factory.mktemp(request.param), server) as running:
        yield running
        assert "Traceback" not in running.portal.log.read_text()


def in_host(name: str) -> pytest.MarkDecorator:
    """Run the test in the portal with these settings."""
    return pytest.mark.parametrize("host", [name], indirect=True)


@pytest.fixture
def ana(host: Host) -> Person:
    return host.person("ana")


@dataclass
class Callers:
    """A person and an agent; all calls come from the same address with the same additional headers."""

    host: Host
    person: Person
    site: Site | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.question = self.host.agent.ask()

    def send(self, calls: Collection[Call] = tuple(CALLS)) -> dict[Call, Reply]:
        """The replies to these calls; of a stream that was opened only its beginning."""
        return {call: self._send(*call) for call in calls}

    def _send(self, method: str, name: str) -> Reply:
        agent, body = self.host.agent, None
        path = self.host.portal.prefix + CALLS[method, name].format(question=self.question["id"])
        if (method, name) in PAGE_STREAMS:
            headers = self.person._headers({"Content-Type": "application/x-www-form-urlencoded"})
        else:
            headers = agent.headers()
        if name == "api-questions":
            body = json.dumps(agent.question_body())
        elif name == "api-claude-code":
            body = json.dumps(hook_envelope(agent))
        return begun_reply(self.site or self.host.portal, method, path, headers | self.headers, body)

    def page(self) -> Reply:
        headers = self.person._headers({}) | self.headers
        return begun_reply(self.site or self.host.portal, "GET", "/ask/rooms/lobby", headers)


def hook_envelope(agent: Agent) -> dict[str, Any]:
    """What Claude Code sends before it asks."""
    return {
        "hook_event_name": "PreToolUse",
        "session_id": "session-1",
        "tool_use_id": secrets.token_hex(4),
        "tool_name": "AskUserQuestion",
        "tool_input": {"questions": agent.question_body()["questions"]},
    }


def outcomes(replies: dict[Call, Reply]) -> dict[Call, tuple[int, str]]:
    return {call: (reply.status, reply.text) for call, reply in replies.items()}


def statuses(replies: dict[Call, Reply]) -> dict[Call, int]:
    return {call: reply.status for call, reply in replies.items()}


def test_every_call_that_may_stay_open_is_tried_here() -> None:
    assert set(CONSUMERS) - PROBES == set(CALLS)


# ---- a second factor -------------------------------------------------------------------------------------


@in_host("second_factor")
def test_streams_need_the_second_factor_as_pages_do(host: Host, ana: Person) -> None:
    refusal = (403, "Your second factor is missing")
    callers = Callers(host, ana)
    page = callers.page()
    assert (page.status, page.text) == refusal
    assert outcomes(callers.send(PAGE_STREAMS)) == dict.fromkeys(PAGE_STREAMS, refusal)

    token = secrets.token_hex(4)
    host.run("django", "addstatictoken", "--token", token, ana.username)
    assert ana.post("/second-factor/", {"token": token}).text == "Verified"
    assert callers.page().status == 200
    assert statuses(callers.send()) == ADMITTED
    with ana.stream(None) as stream:
        question = host.agent.ask()
        assert question["id"] in stream.until("question").data


# ---- a rule for client addresses -------------------------------------------------------------------------


class FromAddress(Site):
    """The same server, called from another address of this machine."""

    def __init__(self, site: Site, address: str) -> None:
        self.port, self.address = site.port, address

    def connect(self) -> HTTPConnection:
        source = (self.address, 0)
        return HTTPConnection("127.0.0.1", self.port, timeout=START_SECONDS, source_address=source)


@in_host("ip_rule")
def test_a_refused_address_opens_nothing(host: Host, ana: Person) -> None:
    refusal = (403, "Not from your address")
    refused = Callers(host, ana, site=FromAddress(host.portal, "127.0.0.2"))
    page = refused.page()
    assert (page.status, page.text) == refusal
    assert outcomes(refused.send()) == dict.fromkeys(CALLS, refusal)
    assert [question["id"] for question in host.agent.open_questions()] == [refused.question["id"]]


@in_host("ip_rule")
def test_an_accepted_address_opens_everything(host: Host, ana: Person) -> None:
    assert statuses(Callers(host, ana).send()) == ADMITTED


# ---- a maintenance page ----------------------------------------------------------------------------------


def data_of(host: Host) -> Path:
    return Path(host.environment["HOST_DATA"])


@contextmanager
def closed(host: Host) -> Iterator[None]:
    """Switch the maintenance page on."""
    switch = data_of(host) / "closed"
    switch.touch()
    try:
        yield
    finally:
        switch.unlink()


@in_host("maintenance")
def test_the_maintenance_page_is_the_reply_to_streams_and_waits(host: Host, ana: Person) -> None:
    callers = Callers(host, ana)
    with closed(host):
        replies = callers.send()
        assert outcomes(replies) == dict.fromkeys(CALLS, (503, "Back at noon"))
        assert {reply.headers["Retry-After"] for reply in replies.values()} == {"120"}
        assert host.portal.request("GET", "/ask/healthz").status == 200
    assert statuses(callers.send()) == ADMITTED


@in_host("maintenance")
def test_open_streams_end_when_the_maintenance_page_is_switched_on(host: Host, ana: Person) -> None:
    with (
        ana.stream(None) as rooms,
        ana.stream("lobby") as room,
        host.agent.events() as events,
        closed(host),
    ):
        for stream in (rooms, room, events):
            stream.wait_for_end(PATIENCE_SECONDS)
    with ana.stream(None) as stream:
        question = host.agent.ask()
        assert question["id"] in stream.until("question").data


@in_host("maintenance")
def test_streams_that_are_admitted_again_miss_nothing(host: Host, ana: Person) -> None:
    paths = ["/ask/stream", "/ask/rooms/lobby/stream", "/ask/api/v1/rooms/lobby/events"]
    before = requests_of(host)
    with ana.stream(None) as rooms, ana.stream("lobby") as room, host.agent.events() as events:
        # Once to open it, then at least twice more.
        eventually(lambda: all((requests_of(host) - before)[path] >= 3 for path in paths))
        question = host.agent.ask()
        assert question["id"] in rooms.until("question").data
        assert question["id"] in room.until("question").data
        assert events.next()["id"] == question["id"]


def requests_of(host: Host) -> Counter[str]:
    """How often the middleware has seen each path."""
    return Counter((data_of(host) / "requests").read_text().splitlines())


# ---- sessions that end when people are idle --------------------------------------------------------------


@in_host("idle_session")
def test_an_open_page_is_no_activity(host: Host, ana: Person) -> None:
    ana.get("/ask/rooms/lobby")
    with ana.stream(None) as stream:
        stream.wait_for_end(PATIENCE_SECONDS)
    assert ana.get("/ask/stream").headers["Location"] == "/entrance/"


@in_host("idle_session")
def test_a_page_whose_stream_is_redirected_says_that_its_person_is_signed_out(
    host: Host, ana: Person, chromium: Browser
) -> None:
    site = f"http://127.0.0.1:{host.portal.port}"
    with closing(chromium.new_context(base_url=site)) as context:
        cookies = ana.cookies.items()
        context.add_cookies([{"name": name, "value": value, "url": site} for name, value in cookies])
        page = context.new_page()
        page.goto("/ask/rooms/lobby")
        # Idle for three seconds, admitted again every second, and no banner in the first three.
        expect(page.locator("#ab-connection")).to_contain_text("You are signed out", timeout=30_000)


# ---- a refusal after the view ----------------------------------------------------------------------------


@in_host("deny_after")
@pytest.mark.parametrize("team", ["another", "suspended"])
def test_a_refusal_after_the_view_is_obeyed(host: Host, ana: Person, team: str) -> None:
    refused = Callers(host, ana, headers={"X-Team": team})
    assert outcomes(refused.send()) == dict.fromkeys(CALLS, (403, "Not for your team"))
    assert statuses(Callers(host, ana).send()) == ADMITTED


# ---- people who are named by the proxy -------------------------------------------------------------------


class NamedByProxy(Person):
    """A person without a session: the proxy names them in every request."""

    prefix = "/ask"
    login_address = "/entrance/"

    def __init__(self, host: Host, username: str) -> None:
        Visitor.__init__(self, host.portal)
        self.username = username

    def _headers(self, headers: dict[str, str]) -> dict[str, str]:
        return super()._headers(headers) | {"X-Remote-User": self.username}


def new_room(host: Host, slug: str, *members: NamedByProxy) -> Agent:
    """An agent in a new room with these members."""
    host.run("django", "createroom", slug, "--member", *(member.username for member in members))
    return host.portal.agent(slug, host.run("django", "createkey", slug, "--label", "test").strip())


@in_host("remote_user")
def test_the_person_of_a_stream_is_the_one_of_its_request(host: Host) -> None:
    ana, ben = NamedByProxy(host, "ana@x.org"), NamedByProxy(host, "ben@x.org")
    agent = new_room(host, "attic", ana)
    with ana.stream(None) as of_ana, ana.stream("attic") as of_room, ben.stream(None) as of_ben:
        in_attic = agent.ask()
        assert in_attic["id"] in of_room.until("question").data
        assert in_attic["id"] in of_ana.until("question").data
        in_lobby = host.agent.ask()
        assert in_lobby["id"] in of_ana.until("question").data
        assert in_lobby["id"] in of_ben.until("question").data
        with agent.waiting(in_attic["id"]) as waiting:
            ana.answer(in_attic, "SQLite")
            assert waiting.result()["status"] == "answered"
    assert ben.get("/ask/rooms/attic/stream").status == 404
    assert "sessionid" not in ana.cookies


@in_host("remote_user")
def test_without_a_name_there_is_no_stream(host: Host) -> None:
    assert host.portal.request("GET", "/ask/rooms/lobby").status == 302
    assert host.portal.request("GET", "/ask/stream").status == 401
    assert host.portal.request("GET", "/ask/rooms/lobby/stream").status == 401


@in_host("remote_user")
def test_access_to_rooms_is_rechecked_for_the_person_of_the_request(host: Host) -> None:
    ana, ben = NamedByProxy(host, "ana@x.org"), NamedByProxy(host, "ben@x.org")
    # The browser also has a session, of another person: as for a person who acts for another one.
    acting = NamedByProxy(host, "ana@x.org")
    acting.cookies = host.person("ben").cookies
    agent = new_room(host, "cellar", ana, ben)
    with (
        ana.stream("cellar") as staying,
        acting.stream(None) as also_staying,
        ben.stream("cellar") as ending,
    ):
        code = "from rooms.models import Membership as m; m.objects.filter(room__slug='cellar')"
        host.run("django", "shell", "-v0", "-c", f"{code}.filter(user__username='ben@x.org').delete()")
        ending.wait_for_end(ENDED_SECONDS)
        # The comment comes after 15 seconds, the recheck after 10.
        staying.until_keep_alive()
        question = agent.ask()
        assert question["id"] in staying.until("question").data
        assert question["id"] in also_staying.until("question").data


# ---- a cache for whole responses -------------------------------------------------------------------------


@in_host("caching")
def test_an_admission_never_comes_from_a_cache(host: Host, ana: Person) -> None:
    callers, strangers = Callers(host, ana), Callers(host, ana, headers={"Authorization": "", "Cookie": ""})
    strangers.question = callers.question
    assert statuses(callers.send()) == ADMITTED
    assert statuses(callers.send()) == ADMITTED
    assert statuses(strangers.send()) == dict.fromkeys(CALLS, 401)


@in_host("caching")
def test_replies_to_agents_never_come_from_a_cache(host: Host) -> None:
    agent = host.agent
    address = agent.question_url(agent.ask()["id"])
    for path in (address, agent.questions_url, agent.messages_url):
        reply = agent.get(path)
        assert (reply.status, reply.headers["Cache-Control"]) == (200, "private, no-store")
        assert agent.call("GET", path, key="abk_wrong").status == 401
