"""Who gets what from every address of the site, in one table; what is foreign looks exactly like missing.

A new address fails here until the table says who may use it.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import URLResolver, get_resolver

from rooms import access, lifecycle
from rooms.contract.payload import parse_ask
from rooms.live.routing import CONSUMERS
from rooms.models import AgentKey, Answer, Invitation, Membership, Message, Notice, Question, Room, Webhook
from tests.harness.bridges import MEMBER, Bridge
from tests.harness.http import begun_reply
from tests.harness.people import Person, Visitor
from tests.harness.sites import Site, run_manage

ACTORS = ("anonymous", "stranger", "member", "manager", "admin", "key", "foreign-key", "revoked-key")

# Statuses in the order of the actors; `login` is the redirect to the login page. Pages know no keys, the API
# knows no logins. A method without a row is refused to all. The forms that rotate or revoke a key name
# none here, and so it does not exist: tests/rooms/test_keys.py has what happens to those that do; for
# webhooks test_webhooks.py has it, for members test_manage_members.py, for invitations test_invitations.py,
# for sign-in links test_signin_link.py. Metrics have a token of their own:
# tests/rooms/test_metrics.py.
TABLE = """
/login/                                      GET    200   302   302   302   302   200   200   200
/login/                                      POST   200   302   302   302   302   200   200   200
/welcome/{token}/                            GET    404   404   404   404   404   404   404   404
/welcome/{token}/                            POST   404   404   404   404   404   404   404   404
/password/                                   GET    login 200   200   200   200   login login login
/password/                                   POST   login 200   200   200   200   login login login
/password/done/                              GET    login 200   200   200   200   login login login
/logout/                                     POST   login login login login login login login login

/                                            GET    login 200   200   200   200   login login login
/close-unattended                            GET    login 302   302   302   302   login login login
/close-unattended                            POST   login 303   303   303   303   login login login
/history                                     GET    login 200   200   200   200   login login login
/history/export                              GET    login 200   200   200   200   login login login
/history/export.csv                          GET    login 200   200   200   200   login login login
/history/export.json                         GET    login 200   200   200   200   login login login
/history/export/progress                     GET    login 200   200   200   200   login login login
/settings                                    GET    login 200   200   200   200   login login login
/settings                                    POST   login 303   303   303   303   login login login
/insights                                    GET    login 200   200   200   200   login login login
/insights/export.csv                         GET    login 200   200   200   200   login login login
/insights/export.json                        GET    login 200   200   200   200   login login login
/settings/devices                            GET    login 302   302   302   302   login login login
/settings/devices                            POST   login 422   422   422   422   login login login
/settings/try                                GET    login 302   302   302   302   login login login
/settings/try                                POST   login 200   200   200   200   login login login
/settings/data                               GET    login 302   302   302   302   login login login
/settings/data                               POST   login 200   200   200   200   login login login
/settings/tried                              GET    login 404   404   404   404   login login login
/rooms/new                                   GET    login 404   404   404   200   login login login
/rooms/new                                   POST   login 404   404   404   422   login login login
/rooms/archived                              GET    login 200   200   200   200   login login login
/join/{token}                                GET    login 404   404   404   404   login login login
/join/{token}                                POST   login 404   404   404   404   login login login
/avatars/{token}                             GET    404   404   404   404   404   404   404   404
/service-worker.js                           GET    200   200   200   200   200   200   200   200
/manifest.webmanifest                        GET    200   200   200   200   200   200   200   200
/ask-bridge.pyz                              GET    200   200   200   200   200   200   200   200
/files/{file}                                GET    200   200   200   200   200   200   200   200

/stream                                      GET    401   200   200   200   200   401   401   401
/stream                                      POST   401   200   200   200   200   401   401   401
/rooms/{room}/stream                         GET    401   404   200   200   200   401   401   401
/rooms/{room}/stream                         POST   401   404   200   200   200   401   401   401

/rooms                                       GET    login 200   200   200   200   login login login
/rooms/{room}                                GET    login 404   200   200   200   login login login
/rooms/{room}/                               GET    302   302   302   302   302   302   302   302
/rooms/{room}/                               POST   302   302   302   302   302   302   302   302
/rooms/{room}/                               DELETE 302   302   302   302   302   302   302   302
/rooms/{room}/messages                       GET    login 302   302   302   302   login login login
/rooms/{room}/messages                       POST   login 404   302   302   302   login login login
/rooms/{room}/mute                           GET    login 302   302   302   302   login login login
/rooms/{room}/mute                           POST   login 404   303   303   303   login login login
/rooms/{room}/insights                       GET    login 404   200   200   200   login login login
/rooms/{room}/connect                        GET    login 404   200   200   200   login login login
/rooms/{room}/connect                        POST   login 404   200   200   200   login login login
/rooms/{room}/connect/keys                   GET    login 404   200   200   200   login login login
/rooms/{room}/connect/steps                  GET    login 404   200   200   200   login login login
/rooms/{room}/connect/test                   GET    login 302   302   302   302   login login login
/rooms/{room}/connect/test                   POST   login 404   302   302   302   login login login
/rooms/{room}/connect/rotate                 GET    login 302   302   302   302   login login login
/rooms/{room}/connect/rotate                 POST   login 404   404   404   404   login login login
/rooms/{room}/connect/revoke                 GET    login 302   302   302   302   login login login
/rooms/{room}/connect/revoke                 POST   login 404   404   404   404   login login login
/rooms/{room}/connect/closing                GET    login 302   302   302   302   login login login
/rooms/{room}/connect/closing                POST   login 404   404   422   422   login login login
/rooms/{room}/webhooks                       GET    login 404   404   200   200   login login login
/rooms/{room}/webhooks                       POST   login 404   404   422   422   login login login
/rooms/{room}/webhooks/try                   GET    login 302   302   302   302   login login login
/rooms/{room}/webhooks/try                   POST   login 404   404   404   404   login login login
/rooms/{room}/webhooks/switch                GET    login 302   302   302   302   login login login
/rooms/{room}/webhooks/switch                POST   login 404   404   404   404   login login login
/rooms/{room}/webhooks/remove                GET    login 302   302   302   302   login login login
/rooms/{room}/webhooks/remove                POST   login 404   404   404   404   login login login
/rooms/{room}/manage                         GET    login 404   404   200   200   login login login
/rooms/{room}/manage                         POST   login 404   404   422   422   login login login
/rooms/{room}/manage/members                 GET    login 404   404   200   200   login login login
/rooms/{room}/manage/members/add             GET    login 302   302   302   302   login login login
/rooms/{room}/manage/members/add             POST   login 404   404   404   404   login login login
/rooms/{room}/manage/members/role            GET    login 302   302   302   302   login login login
/rooms/{room}/manage/members/role            POST   login 404   404   404   404   login login login
/rooms/{room}/manage/members/remove          GET    login 302   302   302   302   login login login
/rooms/{room}/manage/members/remove          POST   login 404   404   404   404   login login login
/rooms/{room}/manage/members/invite          GET    login 302   302   302   302   login login login
/rooms/{room}/manage/members/invite          POST   login 404   404   422   422   login login login
/rooms/{room}/manage/members/revoke          GET    login 302   302   302   302   login login login
/rooms/{room}/manage/members/revoke          POST   login 404   404   404   404   login login login
/rooms/{room}/manage/care                    GET    login 404   404   200   200   login login login
/rooms/{room}/manage/care                    POST   login 404   404   303   303   login login login
/rooms/{room}/manage/keys                    GET    login 404   404   200   200   login login login
/rooms/{room}/manage/keys                    POST   login 404   404   200   200   login login login
/rooms/{room}/manage/keys/rotate             GET    login 302   302   302   302   login login login
/rooms/{room}/manage/keys/rotate             POST   login 404   404   404   404   login login login
/rooms/{room}/manage/keys/revoke             GET    login 302   302   302   302   login login login
/rooms/{room}/manage/keys/revoke             POST   login 404   404   404   404   login login login
/rooms/{room}/manage/retention               GET    login 404   404   200   200   login login login
/rooms/{room}/manage/retention               POST   login 404   404   303   303   login login login
/rooms/{room}/manage/archive                 GET    login 404   404   200   200   login login login
/rooms/{room}/manage/archive                 POST   login 404   404   200   200   login login login
/rooms/{room}/questions/{question}           GET    login 404   200   200   200   login login login
/rooms/{room}/questions/{question}/answer    GET    login 302   302   302   302   login login login
/rooms/{room}/questions/{question}/answer    POST   login 404   303   303   303   login login login
/rooms/{room}/questions/{question}/answering GET    login 302   302   302   302   login login login
/rooms/{room}/questions/{question}/answering POST   login 404   204   204   204   login login login
/rooms/{room}/questions/{question}/undo      GET    login 302   302   302   302   login login login
/rooms/{room}/questions/{question}/undo      POST   login 404   409   409   409   login login login
/rooms/{room}/questions/{question}/skip      GET    login 302   302   302   302   login login login
/rooms/{room}/questions/{question}/skip      POST   login 404   303   303   303   login login login
/rooms/{room}/questions/{question}/reply     GET    login 302   302   302   302   login login login
/rooms/{room}/questions/{question}/reply     POST   login 404   303   303   303   login login login
/rooms/{room}/questions/{question}/correct   GET    login 302   302   302   302   login login login
/rooms/{room}/questions/{question}/correct   POST   login 404   422   422   422   login login login
/rooms/{room}/questions/{question}/push      GET    login 404   200   200   200   login login login
/rooms/{room}/questions/{question}/push      POST   login 404   200   200   200   login login login

/api/v1/rooms/{room}/questions               GET    401   401   401   401   401   200   404   401
/api/v1/rooms/{room}/questions               POST   401   401   401   401   401   201   404   401
/api/v1/rooms/{room}/messages                GET    401   401   401   401   401   200   404   401
/api/v1/rooms/{room}/messages                POST   401   401   401   401   401   201   404   401
/api/v1/rooms/{room}/events                  GET    401   401   401   401   401   200   404   401
/api/v1/rooms/{room}/memory                  GET    401   401   401   401   401   200   404   401
/api/v1/rooms/{room}/hooks/claude-code       POST   401   401   401   401   401   200   404   401
/api/v1/questions/{question}                 GET    401   401   401   401   401   200   404   401
/api/v1/questions/{question}                 DELETE 401   401   401   401   401   200   404   401
/api/v1/questions/{question}/wait            DELETE 401   401   401   401   401   204   404   401
/api/v1/questions/{question}/answer          POST   401   401   401   401   401   200   404   401
/api/v1/openapi.json                         GET    200   200   200   200   200   200   200   200
/api/…                                       GET    404   404   404   404   404   404   404   404
/healthz                                     GET    200   200   200   200   200   200   200   200
/readyz                                      GET    200   200   200   200   200   200   200   200
/metrics                                     GET    404   404   404   404   404   404   404   404
"""

# The same for calls that may stay open, and for probes: those of a running site.
LIVE_TABLE = """
/stream                                      GET    401   200   200   200   200   401   401   401
/stream                                      POST   401   200   200   200   200   401   401   401
/rooms/{room}/stream                         GET    401   404   200   200   200   401   401   401
/api/v1/rooms/{room}/questions               POST   401   401   401   401   401   201   404   401
/api/v1/rooms/{room}/messages                GET    401   401   401   401   401   200   404   401
/api/v1/rooms/{room}/events                  GET    401   401   401   401   401   200   404   401
/api/v1/rooms/{room}/hooks/claude-code       POST   401   401   401   401   401   200   404   401
/api/v1/questions/{question}                 GET    401   401   401   401   401   200   404   401
/healthz                                     GET    200   200   200   200   200   200   200   200
/readyz                                      GET    200   200   200   200   200   200   200   200
"""

# Everything in the admin is behind its login, but for these two. A model that joins it is named here.
ADMIN_MODELS = {
    *("room", "agentkey", "question", "answer", "message", "auditentry", "notice", "webhook"),
    *("membership", "user", "group"),
}
ADMIN_OPEN = {"/admin/login/", "/admin/logout/"}

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

QUESTION = {"question": "Go on?", "options": ["Yes", "No"]}
HOOK = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}}
JSON_BODIES: dict[str, Any] = {
    "/questions": QUESTION,
    "/messages": {"content": "Hello"},
    "/claude-code": HOOK,
    "/answer": {"answers": {"Go on?": "Yes"}},
}
FORM = {
    "choice-0": "0",
    "reply": "Why?",
    "content": "Hello",
    "label": "bot",
    "username": "x",
    "password": "y",
}


@dataclass(frozen=True)
class Row:
    route: str
    method: str
    expected: dict[str, str]

    def __str__(self) -> str:
        return f"{self.method} {self.route}"


def rows(table: str) -> list[Row]:
    found = []
    for line in filter(None, table.splitlines()):
        route, method, *statuses = line.split()
        found.append(Row(route, method, dict(zip(ACTORS, statuses, strict=True))))
    return found


def routes(resolver: Any, prefix: str = "/") -> Iterator[str]:
    for pattern in resolver.url_patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern, route)
        else:
            yield in_short(route)


def in_short(route: str) -> str:
    """As the tables have it."""
    route = route.replace("<slug:room>", "{room}").replace("<slug:question_id>", "{question}")
    route = route.replace("<str:token>", "{token}").replace("<path:path>", "{file}")
    return "/api/…" if route == "/^api/" else route


ALL_ROUTES = list(routes(get_resolver("bridge.urls")))
OUR_ROUTES = [route for route in ALL_ROUTES if not route.startswith("/admin/")]
ADMIN_ROUTES = [route for route in ALL_ROUTES if route.startswith("/admin/")]
ROWS, LIVE_ROWS = rows(TABLE), rows(LIVE_TABLE)


def address(route: str, room: str, question_id: str) -> str:
    path = route.replace("{room}", room).replace("{question}", question_id)
    query = "?q=Go+on" if path.endswith("/memory") else ""
    return path.replace("…", "v1/anything").replace("{file}", "icons.svg") + query


def outcome(status: int, location: str) -> str:
    return "login" if status == 302 and location.startswith("/login/") else str(status)


def body_for(path: str, method: str) -> dict[str, Any]:
    """What makes the request right in everything but who sends it."""
    if method not in ("POST", "PUT", "PATCH"):
        return {}
    if not path.startswith("/api/"):
        return {"data": urlencode(FORM), "content_type": "application/x-www-form-urlencoded"}
    bodies = [body for end, body in JSON_BODIES.items() if path.endswith(end)]
    return {"data": json.dumps(bodies[0] if bodies else {}), "content_type": "application/json"}


# ---- the table is complete -------------------------------------------------------------------------------


def test_every_address_has_a_row() -> None:
    missing = set(OUR_ROUTES) - {row.route for row in ROWS}
    assert missing == set(), "say in TABLE who may use these"


def test_every_call_with_a_consumer_has_a_row() -> None:
    patterns = get_resolver("rooms.urls").url_patterns
    names = {pattern.name: in_short(f"/{pattern.pattern}") for pattern in patterns}
    assert {(row.method, row.route) for row in LIVE_ROWS} == {
        (method, names[name]) for method, name in CONSUMERS
    }


def test_every_model_in_the_admin_is_named() -> None:
    assert {model._meta.model_name for model in admin.site._registry} == ADMIN_MODELS


# ---- ordinary addresses ----------------------------------------------------------------------------------


@dataclass
class Cast:
    """A private room with its question, and all kinds of users."""

    room: Room
    elsewhere: Room
    agent_key: AgentKey
    clients: dict[str, Client] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)

    def ask(self) -> Question:
        return lifecycle.ask(self.room, self.agent_key, parse_ask(QUESTION))[0]

    def send(self, actor: str, method: str, path: str) -> Any:
        headers = {"Authorization": f"Bearer {self.keys[actor]}"} if actor in self.keys else {}
        response = self.clients[actor].generic(method, path, headers=headers, **body_for(path, method))
        if response.streaming:
            # To its end: as long as a file is sent, others may have to wait for theirs.
            list(response.streaming_content)
        return response


@pytest.fixture
def cast(db: None) -> Cast:
    users = get_user_model().objects
    people = {name: users.create_user(name) for name in ("stranger", "member", "manager")}
    people["admin"] = users.create_superuser("admin")
    room = lifecycle.create_room("ops", members=[people["member"]])
    Membership.objects.create(room=room, user=people["manager"], role=Membership.Role.MANAGER)
    # The stranger is at home somewhere, and so is the foreign key.
    elsewhere = lifecycle.create_room("lab", members=[people["stranger"]])
    agent_key, text = access.create_key(room, label="own")
    cast = Cast(room, elsewhere, agent_key)
    cast.keys = {
        "key": text,
        "foreign-key": access.create_key(elsewhere, label="foreign")[1],
        "revoked-key": access.create_key(room, label="revoked")[1],
    }
    access.revoke_keys(AgentKey.objects.filter(label="revoked"))
    for actor in ACTORS:
        cast.clients[actor] = Client()
        if actor in people:
            cast.clients[actor].force_login(people[actor])
    return cast


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_each_user_gets_what_the_table_says(row: Row, cast: Cast) -> None:
    seen = {}
    for actor in ACTORS:
        path = address(row.route, cast.room.slug, cast.ask().pk)
        response = cast.send(actor, row.method, path)
        seen[actor] = outcome(response.status_code, response.get("Location", ""))
    assert seen == row.expected


@pytest.mark.parametrize("route", [*OUR_ROUTES], ids=str)
def test_a_method_without_a_row_is_refused_to_all(route: str, cast: Cast) -> None:
    listed = {row.method for row in ROWS if row.route == route}
    for method in set(METHODS) - listed:
        for actor in ("anonymous", "admin", "key"):
            path = address(route, cast.room.slug, cast.ask().pk)
            status = cast.send(actor, method, path).status_code
            is_post = route == "/login/" and method == "PUT"  # Django takes it for one
            assert status >= 300 or is_post, f"{method} for {actor}: {status}"


# Addresses with a token name neither a room nor a question: tests/rooms/test_invitations.py has theirs.
FOREIGN = [
    row for row in ROWS if "404" in row.expected.values() and re.search("{(room|question)}", row.route)
]


def headers_of(reply: Any) -> dict[str, str]:
    """All but the time of the reply: the next one may be of the next second."""
    return {name: value for name, value in reply.headers.items() if name != "Expires"}


@pytest.mark.parametrize("row", FOREIGN, ids=str)
def test_foreign_looks_exactly_like_missing(row: Row, cast: Cast) -> None:
    question = cast.ask()
    missing_question = question.pk[:-4] + "0000"
    for actor in [actor for actor in ACTORS if row.expected[actor] == "404"]:
        foreign = cast.send(actor, row.method, address(row.route, "ops", question.pk))
        twins = [("nowhere", missing_question), ("nowhere", question.pk)]
        if "{question}" in row.route:
            # A room that the actor may see, and a question of another room or of none.
            twins += [("lab", question.pk), ("lab", missing_question)]
        for slug, question_id in twins:
            missing = cast.send(actor, row.method, address(row.route, slug, question_id))
            assert (missing.status_code, missing.content) == (foreign.status_code, foreign.content)
            assert headers_of(missing) == headers_of(foreign)


@pytest.mark.parametrize("actor", ["anonymous", "stranger", "key", "foreign-key", "revoked-key"])
def test_who_is_refused_on_pages_has_changed_nothing(actor: str, cast: Cast) -> None:
    question = cast.ask()
    before = state()
    for row in ROWS:
        if not row.route.startswith("/api/") and "{room}" in row.route:
            cast.send(actor, row.method, address(row.route, "ops", question.pk))
    assert state() == before


@pytest.mark.parametrize("actor", ["anonymous", "member", "admin", "foreign-key", "revoked-key"])
def test_who_is_refused_by_the_api_has_changed_nothing(actor: str, cast: Cast) -> None:
    question = cast.ask()
    before = state()
    for row in ROWS:
        if row.route.startswith("/api/"):
            cast.send(actor, row.method, address(row.route, "ops", question.pk))
    assert state() == before


def state() -> list[Any]:
    """Everything in the private room that a request could have changed."""
    return [
        list(Question.objects.values("pk", "status", "revision", "agent_active")),
        list(Room.objects.order_by("pk").values("pk", "revision")),
        *(
            model.objects.count()
            for model in (Answer, Message, AgentKey, Membership, Invitation, Webhook, Notice)
        ),
    ]


@pytest.mark.parametrize(("actor", "made"), [("member", 0), ("manager", 1), ("admin", 1)])
def test_only_managers_and_admins_make_keys(actor: str, made: int, cast: Cast) -> None:
    before = AgentKey.objects.count()
    page = cast.send(actor, "POST", "/rooms/ops/connect")
    assert AgentKey.objects.count() - before == made
    assert len(set(re.findall(r"abk_[0-9a-z]{10}_[0-9a-z]{40}", page.content.decode()))) == made


def test_a_member_does_not_see_the_keys_of_the_room(cast: Cast) -> None:
    for path in ("/rooms/ops/connect", "/rooms/ops/connect/keys", "/rooms/ops/connect/steps"):
        assert cast.agent_key.lookup not in cast.send("member", "GET", path).content.decode()


# ---- the admin -------------------------------------------------------------------------------------------


def admin_address(route: str, question_id: str) -> str:
    path = re.sub(r"<path:content_type_id>", "1", route)
    path = re.sub(r"<path:object_id>|<id>", question_id if "/question/" in route else "1", path)
    path = path.replace("^(?P<app_label>ask_bridge|auth)/$", "ask_bridge/")
    return path.replace("(?P<url>.*)$", "anything")


@pytest.fixture
def staff(cast: Cast) -> Client:
    """May enter the admin and has no permission there."""
    client = Client()
    client.force_login(get_user_model().objects.create_user("staff", is_staff=True))
    return client


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_only_staff_comes_into_the_admin(method: str, cast: Cast) -> None:
    question = cast.ask()
    for route in set(ADMIN_ROUTES) - ADMIN_OPEN:
        path = admin_address(route, question.pk)
        for actor in set(ACTORS) - {"admin"}:
            refused = cast.send(actor, method, path)
            assert refused.status_code == 302, f"{method} {path} for {actor}"
            assert refused["Location"].startswith("/admin/login/?next="), f"{method} {path} for {actor}"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_staff_without_permissions_sees_and_changes_nothing(method: str, cast: Cast, staff: Client) -> None:
    question = cast.ask()
    before = state()
    for route in ADMIN_ROUTES:
        if re.match(r"/admin/(ask_bridge|auth)/", route):
            path = admin_address(route, question.pk)
            response = staff.generic(method, path, **body_for(path, method))
            # "1/" alone is Django's redirect of old addresses to "1/change/".
            is_redirect = route.endswith("<path:object_id>/")
            assert response.status_code in ((302,) if is_redirect else (302, 403, 404)), f"{method} {path}"
            if response.status_code == 302 and not is_redirect:
                # What does not exist is the same for all in the admin: back to its first page.
                assert response["Location"] == "/admin/", f"{method} {path}"
    assert state() == before


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_admin_is_never_sent_to_the_login(method: str, cast: Cast) -> None:
    question = cast.ask()
    for route in set(ADMIN_ROUTES) - ADMIN_OPEN:
        path = admin_address(route, question.pk)
        response = cast.send("admin", method, path)
        assert response.status_code < 500
        assert "login" not in response.get("Location", ""), f"{method} {path}"


# ---- calls that may stay open ----------------------------------------------------------------------------

PREPARE = """
from django.contrib.auth import get_user_model
from rooms import access
from rooms.models import AgentKey, Membership, Room
users, room = get_user_model().objects, Room.objects.get(slug={room!r})
manager = users.get(username="eli")
Membership.objects.create(room=room, user=manager, role="manager")
users.filter(username="ben").update(is_superuser=True, is_staff=True)
_, text = access.create_key(room, label="revoked")
access.revoke_keys(AgentKey.objects.filter(label="revoked"))
print(text)
"""


@dataclass
class LiveCast:
    site: Site
    room: str
    people: dict[str, Visitor]
    keys: dict[str, str]
    ask: Callable[[], Any]

    def send(self, actor: str, method: str, path: str) -> tuple[int, str]:
        """Status, and the body unless it is a stream that goes on."""
        person = self.people.get(actor)
        headers = person._headers({}) if person else {}
        if actor in self.keys:
            headers["Authorization"] = f"Bearer {self.keys[actor]}"
        body = body_for(path.partition("?")[0], method)
        if body:
            headers["Content-Type"] = body["content_type"]
        reply = begun_reply(self.site, method, path, headers, body.get("data"))
        return reply.status, reply.text


@pytest.fixture(scope="module")
def live_cast(bridge: Bridge) -> Iterator[LiveCast]:
    agent, foreign = bridge.agent(is_open=False), bridge.agent()
    done = run_manage(bridge.environment, "shell", "-v0", "-c", PREPARE.format(room=agent.room))
    assert done.returncode == 0, done.stderr
    people: dict[str, Person] = {
        "stranger": bridge.new_person("ana"),
        "member": bridge.new_person(MEMBER),
        "manager": bridge.new_person("eli"),
        "admin": bridge.new_person("ben"),
    }
    keys = {"key": agent.key, "foreign-key": foreign.key, "revoked-key": done.stdout.strip()}
    yield LiveCast(bridge.site, agent.room, {**people}, keys, agent.ask)
    # Only who was promoted above: the site and its own admin are there for other tests as well.
    ben = "from django.contrib.auth import get_user_model as g; g().objects.filter(username='ben')"
    run_manage(bridge.environment, "shell", "-v0", "-c", f"{ben}.update(is_superuser=False, is_staff=False)")


@pytest.mark.parametrize("row", LIVE_ROWS, ids=str)
def test_each_user_gets_what_the_table_says_live(row: Row, live_cast: LiveCast) -> None:
    question = live_cast.ask()
    # Half of these calls are live only because they want to wait; no seconds are enough.
    path = address(row.route, live_cast.room, question["id"]) + "?wait=0"
    replies = {actor: live_cast.send(actor, row.method, path) for actor in ACTORS}
    assert {actor: str(status) for actor, (status, _) in replies.items()} == row.expected
    missing = address(row.route, "nowhere", question["id"][:-4] + "0000") + "?wait=0"
    for actor, status in row.expected.items():
        if status == "404":
            assert live_cast.send(actor, row.method, missing) == replies[actor]
    by_status = groupby(sorted((status, body) for status, body in replies.values()), lambda reply: reply[0])
    for status, alike in by_status:
        if status >= 400:
            assert len({body for _, body in alike}) == 1, "a refusal says nothing about who is refused"
