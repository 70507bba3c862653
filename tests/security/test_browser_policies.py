"""Security headers and checks of each page: no foreign forms, frames, redirects or scripts."""

import re
import subprocess
from collections.abc import Callable, Iterator
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django import urls
from django.conf import settings as django_settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from rooms import lifecycle
from rooms.contract.payload import parse_ask
from rooms.models import Question, Room
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.http import Reply
from tests.harness.people import Visitor
from tests.harness.sites import Site
from tests.security.test_authorisation_matrix import ADMIN_ROUTES, ROWS, address, admin_address, body_for

Manage = Callable[..., subprocess.CompletedProcess[str]]
Serve = Callable[..., Site]

PASSWORD = "correct horse battery staple"
EVIL = "evil.example"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; manifest-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def directives(policy: str) -> set[str]:
    return {directive.strip() for directive in policy.split(";")}


@pytest.fixture
def ana(db: None, settings: Any) -> Any:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return get_user_model().objects.create_superuser("ana", password=PASSWORD)


@pytest.fixture
def room(ana: Any) -> Room:
    return lifecycle.create_room("ops", members=[ana])


@pytest.fixture
def question(room: Room) -> Question:
    return lifecycle.ask(room, None, parse_ask({"question": "Go on?", "options": ["Yes", "No"]}))[0]


@pytest.fixture
def browser(ana: Any) -> Client:
    """Signed in, and checked for tokens as in earnest."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(ana)
    return client


# ---- forms of other sites ----------------------------------------------------------------------------------

# A page reads its stream by POST, because its cursors are too long for an address. Nothing changes by it.
STREAMS = ("/stream", "/rooms/{room}/stream")
FORMS = [
    row
    for row in ROWS
    if row.method == "POST" and not row.route.startswith("/api/") and row.route not in STREAMS
]


@pytest.mark.parametrize("route", STREAMS)
def test_reading_a_stream_from_another_site_changes_nothing_and_shows_it_nothing(
    browser: Client, room: Room, question: Question, route: str
) -> None:
    with CaptureQueriesContext(connection) as captured:
        reply = browser.post(address(route, "ops", question.pk), headers={"Origin": "https://evil.example"})
    assert reply.status_code == 200
    assert "Access-Control-Allow-Origin" not in reply.headers
    assert {query["sql"].split()[0] for query in captured} == {"SELECT"}


@pytest.mark.parametrize("route", [row.route for row in FORMS])
@pytest.mark.parametrize("token", ["none", "of somebody else"])
def test_a_form_without_our_token_is_refused(
    browser: Client, question: Question, route: str, token: str
) -> None:
    target = address(route, "ops", question.pk)
    cookies = {"csrftoken": "x" * 32} if token == "of somebody else" else {}
    headers = {"X-CSRFToken": "y" * 32} if cookies else {}
    browser.cookies.load(cookies)
    refused = browser.post(target, headers=headers, **body_for(target, "POST"))
    if route == "/rooms/{room}/":
        assert refused.status_code in (302, 403)  # goes nowhere but to the room
    else:
        assert refused.status_code == 403
        assert "This form has expired" in refused.content.decode()
    question.refresh_from_db()
    assert question.status == "open"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_form_of_the_admin_without_our_token_is_refused(
    browser: Client, question: Question, method: str
) -> None:
    for route in ADMIN_ROUTES:
        refused = browser.generic(method, admin_address(route, question.pk))
        assert refused.status_code == 403, route


def test_a_form_of_another_site_is_refused_even_with_the_token(browser: Client, question: Question) -> None:
    browser.get("/rooms/ops")
    token = browser.cookies["csrftoken"].value
    for headers in ({"Origin": f"https://{EVIL}"}, {"Origin": "null"}):
        data = {"choice-0": "0", "csrfmiddlewaretoken": token}
        target = f"/rooms/ops/questions/{question.pk}/answer"
        assert browser.post(target, data, headers=headers).status_code == 403
        assert browser.post(target, data).status_code in (303, 409), "the token itself is right"


def test_the_api_takes_no_cookie_and_needs_no_token(browser: Client, room: Room) -> None:
    """Nothing that a browser sends by itself opens it, so there is nothing to forge."""
    body = {"data": '{"question": "Go on?", "options": ["A", "B"]}', "content_type": "application/json"}
    assert browser.post("/api/v1/rooms/ops/questions", **body).status_code == 401


# ---- redirects ---------------------------------------------------------------------------------------------

ELSEWHERE = [
    "//evil.example",
    "///evil.example",
    "////evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "https://evil.example",
    "https:evil.example",
    "https:/evil.example",
    "https:///evil.example",
    "HTTPS://EVIL.example",
    "http://testserver@evil.example",
    "http://testserver.evil.example",
    "//testserver:80@evil.example/",
    "\thttps://evil.example",
    " //evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "\x00//evil.example",
    "javascript:alert(1)",
    "data:text/html,x",
    "//evil%E3%80%82example",
    "https://ⓔvil.example",
    "/%0d%0aLocation:%20https://evil.example",
]


def leads_elsewhere(location: str) -> bool:
    """As a browser reads it, which drops some characters and turns backslashes around."""
    read = re.sub(r"[\t\r\n]", "", location.strip("\x00 ")).replace("\\", "/")
    address = urlsplit(urljoin("http://testserver/", read))
    return address.scheme not in ("http", "https") or address.netloc != "testserver"


@pytest.mark.parametrize("path", ["/login/", "/admin/login/"])
@pytest.mark.parametrize("target", ELSEWHERE)
def test_signing_in_leads_nowhere_else(ana: Any, path: str, target: str) -> None:
    data = {"username": "ana", "password": PASSWORD}
    for response in (
        Client().post(path, {**data, "next": target}),
        Client().post(path, data, query_params={"next": target}),
    ):
        assert response.status_code == 302
        assert not leads_elsewhere(response["Location"])
    signed_in = Client()
    signed_in.force_login(ana)
    assert not leads_elsewhere(signed_in.get(path, {"next": target}).get("Location", "/"))


@pytest.mark.parametrize("target", ELSEWHERE)
def test_signing_out_leads_nowhere_else(ana: Any, target: str) -> None:
    for path in ("/logout/", "/admin/logout/"):
        client = Client()
        client.force_login(ana)
        assert not leads_elsewhere(client.post(path, {"next": target}).get("Location", "/"))


@pytest.mark.parametrize("target", [*ELSEWHERE, "//evil.example/rooms/ops/messages", "//evil.example/%2e%2e"])
def test_an_address_with_two_slashes_leads_nowhere_else(bridge: Bridge, target: str) -> None:
    raw = re.sub(r"[\x00-\x20]", "", target.encode("idna" if "ⓔ" in target else "utf-8").decode())
    for visitor in (Visitor(bridge.site), bridge.person()):
        reply = visitor.get(raw if raw.startswith("/") else f"/{raw}")
        location = reply.headers["Location"] or "/"
        assert EVIL not in (urlsplit(urljoin("http://testserver/", location)).hostname or "")


def test_forged_hosts_do_not_change_addresses(bridge: Bridge) -> None:
    agent: Agent = bridge.agent()
    bent = {
        "Daphne-Root-Path": "/evil",
        "X-Forwarded-Host": EVIL,
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Prefix": "/evil",
        "X-Original-URL": "/admin/",
        "X-Rewrite-URL": "/admin/",
        "X-HTTP-Method-Override": "DELETE",
        "Forwarded": f"host={EVIL};proto=https",
        "Script-Name": "/evil",
    }
    path, body = f"{agent.path}/questions", '{"question": "Go on?", "options": ["A", "B"]}'
    asked = bridge.site.request("POST", path, body=body, headers=agent.headers() | bent)
    assert asked.status == 201
    assert asked.json()["url"].startswith(f"http://127.0.0.1:{bridge.site.port}/rooms/{agent.room}/")
    assert bridge.site.request("GET", "/", headers=bent).headers["Location"].startswith("/login/?next=/")
    read = bridge.site.request(
        "GET", f"/api/v1/questions/{asked.json()['id']}", headers=agent.headers() | bent
    )
    assert read.json()["status"] == "open"


def test_an_upgrade_is_ignored(bridge: Bridge) -> None:
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    for path, status in (("/healthz", 200), ("/login/", 200), ("/stream", 401), ("/", 302)):
        assert bridge.site.request("GET", path, headers=upgrade).status == status


# ---- what every page says ----------------------------------------------------------------------------------


def broken(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("an unexpected error")


# As a URLconf: the site with one address that breaks.
urlpatterns = [urls.path("broken", broken), urls.path("", urls.include("bridge.urls"))]
handler400 = "bridge.errors.bad_request"


def replies(browser: Client, question: Question) -> Iterator[tuple[str, int, Any]]:
    """Pages of every kind, with the status that each should have."""
    card = f"/rooms/ops/questions/{question.pk}"
    browser.raise_request_exception = False
    pages = ["/", "/rooms/ops", card, "/settings", "/rooms/ops/connect", "/admin/", "/admin/ask_bridge/room/"]
    for page in [*pages, f"/admin/ask_bridge/question/{question.pk}/change/", "/manifest.webmanifest"]:
        yield page, 200, browser.get(page)
    yield "404", 404, browser.get("/rooms/nowhere")
    yield "403", 403, browser.post("/settings")
    yield "400", 400, browser.get("/", headers={"Host": EVIL})
    yield "405", 405, browser.post("/", {"csrfmiddlewaretoken": browser.cookies["csrftoken"].value})
    yield "500", 500, browser.get("/broken")
    anonymous = Client()
    yield "login", 200, anonymous.get("/login/")
    yield "admin login", 200, anonymous.get("/admin/login/")
    yield "redirect", 302, anonymous.get("/rooms/ops")
    for _ in range(5):
        anonymous.post("/login/", {"username": "x", "password": "y"})
    yield "429", 429, anonymous.post("/login/", {"username": "x", "password": "y"})
    yield "api", 401, anonymous.get("/api/v1/rooms/ops/questions")
    yield "openapi", 200, anonymous.get("/api/v1/openapi.json")
    yield "archive", 200, anonymous.get("/ask-bridge.pyz")


def test_every_reply_has_the_policy_and_the_headers(
    browser: Client, question: Question, settings: Any, caplog: Any
) -> None:
    settings.ROOT_URLCONF = __name__
    for name, status, response in replies(browser, question):
        assert response.status_code == status, name
        assert directives(response["Content-Security-Policy"]) == directives(POLICY), name
        for header, value in HEADERS.items():
            assert response[header] == value, name


def test_files_have_those_that_are_not_for_pages(bridge: Bridge) -> None:
    """The policy and the rule for frames say what a page may do; they would be a fifth of a first visit."""
    for_pages = {"X-Frame-Options"}
    for path in (
        "/static/ask_bridge/js/live.js",
        "/static/ask_bridge/icons.svg",
        "/static/admin/css/base.css",
    ):
        file = bridge.site.request("GET", path)
        assert file.status == 200
        expected = {name: value for name, value in HEADERS.items() if name not in for_pages}
        assert {name: file.headers[name] for name in expected} == expected
        assert "Access-Control-Allow-Origin" not in file.headers
        # A browser shows an SVG as a page, if its address is opened: there is nothing to run in ours.
        assert not path.endswith(".svg") or not re.search(r"<script|\son\w+=|<foreignObject", file.text)


def test_the_policy_is_the_one_in_the_settings() -> None:
    """A looser policy has to be changed here as well, with the reason."""
    configured = django_settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    assert {f"{name} {' '.join(sources)}" for name, sources in configured.items()} == directives(POLICY)
    assert not hasattr(django_settings, "CONTENT_SECURITY_POLICY_REPORT_ONLY")


def test_pages_of_a_person_are_not_cached(browser: Client, question: Question) -> None:
    for page in ("/", "/rooms/ops", "/settings", "/rooms/ops/connect", f"/rooms/ops/questions/{question.pk}"):
        assert "no-store" in browser.get(page)["Cache-Control"], page


def test_replies_to_requests_that_stay_open_are_guessed_at_by_no_browser(bridge: Bridge) -> None:
    agent, ana = bridge.agent(), bridge.person()
    question = agent.ask()
    replies: list[Reply] = [
        agent.call("GET", f"/api/v1/questions/{question['id']}?wait=0"),
        agent.call("GET", f"/api/v1/questions/{question['id']}?wait=0", key="nonsense"),
        ana.get("/rooms/nowhere/stream"),
        bridge.site.request("GET", "/healthz"),
    ]
    for reply in replies:
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert "no-store" in reply.headers["Cache-Control"].split(", ")
        assert reply.headers.get_content_type() in ("application/json", "application/problem+json")


# ---- production --------------------------------------------------------------------------------------------

HOST = "ask.example.org"
GOOD_SECRET = "".join(chr(33 + number % 60) for number in range(80))
BAD_SECRETS = ["", "hunter2", "changeme" * 3, "k" * 31, "django-insecure-" + "x" * 60]


@pytest.mark.parametrize("secret", BAD_SECRETS)
@pytest.mark.parametrize("command", ["serve", "check"])
def test_production_does_not_start_with_a_secret_that_can_be_guessed(
    manage: Manage, command: str, secret: str
) -> None:
    done = manage(command, PRODUCTION="1", SECRET_KEY=secret, ALLOWED_HOSTS=HOST)
    assert done.returncode != 0
    assert done.stderr.startswith("Error: PRODUCTION=1 needs SECRET_KEY")
    assert done.stderr.count("\n") == 1
    assert not secret or secret not in done.stderr


def test_production_passes_the_checks_for_deployment(manage: Manage) -> None:
    done = manage("check", "--deploy", PRODUCTION="1", SECRET_KEY=GOOD_SECRET, ALLOWED_HOSTS=HOST)
    assert done.returncode == 0
    # Whether subdomains and the lists in browsers insist on https is for the owner of the domain to decide.
    assert set(re.findall(r"\w+\.[WE]\d+", done.stderr)) <= {"security.W005", "security.W021"}


@pytest.mark.usefixtures("migrated")
def test_production_keeps_cookies_and_pages_to_https(serve: Serve) -> None:
    site = serve(PRODUCTION="1", SECRET_KEY=GOOD_SECRET, ALLOWED_HOSTS=HOST)
    password = re.findall(r"Password +(\S+)", site.printed)[0]
    secure = {"Host": HOST, "X-Forwarded-Proto": "https"}
    form = site.request("GET", "/login/", headers=secure)
    token = SimpleCookie(form.headers["Set-Cookie"])["csrftoken"]
    signed_in = site.request(
        "POST",
        "/login/",
        body=f"username=admin&password={password}&csrfmiddlewaretoken={token.value}",
        headers=secure
        | {
            "Content-Type": "application/x-www-form-urlencoded",
            "Cookie": f"csrftoken={token.value}",
            "Origin": f"https://{HOST}",
        },
    )
    assert signed_in.status == 302
    cookies = SimpleCookie("\r\n".join(signed_in.headers.get_all("Set-Cookie") or []))
    session = cookies["sessionid"]
    assert session["secure"]
    assert session["httponly"]
    assert session["samesite"] == token["samesite"] == "Lax"
    assert token["secure"]
    assert not session["domain"]
    for path in ("/login/", "/nowhere", "/static/nowhere.css", "/api/v1/openapi.json"):
        page = site.request("GET", path, headers=secure)
        assert int(page.headers["Strict-Transport-Security"].removeprefix("max-age=")) >= 30 * 24 * 3600
        assert directives(page.headers["Content-Security-Policy"]) == directives(POLICY)
    for path in ("/login/", "/stream", "/rooms/lobby/stream", "/api/v1/questions/q_0?wait=1", "/admin/"):
        plain = site.request("GET", path, headers={"Host": HOST})
        assert plain.status == 301
        assert plain.headers["Location"] == f"https://{HOST}{path}"
    # A form of another site, with everything right but where it comes from.
    forged = site.request(
        "POST",
        "/logout/",
        body=f"csrfmiddlewaretoken={token.value}",
        headers=secure
        | {
            "Content-Type": "application/x-www-form-urlencoded",
            "Cookie": f"csrftoken={token.value}; sessionid={session.value}",
            "Origin": f"https://{EVIL}",
        },
    )
    assert forged.status == 403
