"""`manage.py ask_bridge_doctor` walks through a portal and says in a sentence what fails."""

import io
import re
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.checks import Error
from django.core.management import CommandError, call_command
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from pytest_django.live_server_helper import LiveServer

from rooms import checks
from rooms.live import routing
from rooms.management import doctor

SCRIPT = '<script src="/static/ask_bridge/js/start.js" type="module"></script>'


@pytest.fixture(autouse=True)
def portal(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A portal that `runserver` shows: it serves static files itself."""
    settings.DEBUG = True
    settings.SILENCED_SYSTEM_CHECKS = []
    monkeypatch.setattr(routing, "is_installed", True)


def walk(**options: str) -> tuple[str, bool]:
    """What the command prints, and whether it succeeds."""
    printed = io.StringIO()
    try:
        call_command("ask_bridge_doctor", stdout=printed, **options)
    except CommandError:
        return printed.getvalue(), False
    return printed.getvalue(), True


@pytest.mark.django_db(transaction=True)
def test_a_portal_in_order_gets_ticks_and_notes() -> None:
    printed, succeeds = walk()
    assert succeeds, printed
    marks = [line[0] for line in printed.splitlines()]
    assert set(marks) == {"✓", "–"}
    assert marks.count("✓") >= 8
    assert "give its address with --url" in printed


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (
            "ASK_BRIDGE",
            {"ASK_PER_MINUTE": 1, "METRICS_TOKEN": None},
            "✗ ASK_BRIDGE has no setting 'ASK_PER_MINUTE'",
        ),
        ("ASK_BRIDGE", {"METRICS_TOKEN": None}, "✗ ASK_BRIDGE['METRICS_TOKEN'] is no text."),
        ("ASK_BRIDGE", {"ORIGIN": "portal.example.org"}, "✗ ORIGIN is 'portal.example.org'"),
        ("ASK_BRIDGE", {"VAPID_PRIVATE_KEY": "short"}, "✗ VAPID_PRIVATE_KEY is not 32 bytes"),
        ("ROOT_URLCONF", "django.contrib.auth.urls", "✗ The addresses of Ask Bridge are not included."),
        ("ROOT_URLCONF", "nowhere.urls", "✗ The check check_addresses cannot run: No module named 'nowhere'"),
        ("LOGIN_URL", "account_login", "! LOGIN_URL is 'account_login', and no URL has this name."),
        ("STATICFILES_FINDERS", [], "✗ The files of Ask Bridge are found by none of STATICFILES_FINDERS"),
        ("STATIC_URL", "https://cdn.example.org/", "– Static files come from cdn.example.org"),
        (
            "CHANNEL_LAYERS",
            {"default": {"BACKEND": "tests.rooms.test_doctor.SilentLayer"}},
            "✗ SilentLayer delivers no messages: out of order",
        ),
    ],
)
def test_what_is_wrong_is_said_and_the_walk_goes_on(settings: Any, name: str, value: Any, said: str) -> None:
    setattr(settings, name, value)
    printed, succeeds = walk()
    assert said in printed
    assert succeeds == ("✗" not in said)
    assert "✓ SQLite" in printed or "✓ PostgreSQL" in printed or "✓ M" in printed


class SilentLayer:
    """A channel layer whose server is away."""

    async def new_channel(self) -> str:
        raise OSError("out of order")


@pytest.mark.django_db(transaction=True)
def test_a_server_that_is_refused_gets_no_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of MySQL asks the server, so Django runs it before `migrate` only."""
    refused = Error("Ask Bridge does not work with MySQL.", hint="Use MariaDB.", id="ask_bridge.E020")
    monkeypatch.setattr(checks, "check_database_server", lambda databases: [refused] if databases else [])
    printed, succeeds = walk()
    assert not succeeds
    assert "✗ Ask Bridge does not work with MySQL. Use MariaDB. (ask_bridge.E020)" in printed
    assert "takes writes" not in printed


def test_every_check_belongs_to_a_part() -> None:
    """Otherwise its part would get a tick beside the problem."""
    source = Path(checks.__file__).read_text()
    of_parts = {name for part in doctor.PARTS for name in part.checks}
    assert of_parts == set(re.findall(r'id="(ask_bridge\.\w+)"', source))


@pytest.mark.django_db(transaction=True)
def test_files_that_are_not_collected(settings: Any, tmp_path: Any) -> None:
    settings.DEBUG = False
    settings.STATIC_ROOT = tmp_path
    assert "✗ The files of Ask Bridge are not collected" in walk()[0]


@pytest.mark.django_db(transaction=True)
def test_tables_that_are_missing() -> None:
    call_command("migrate", "ask_bridge", "0020", verbosity=0)
    try:
        printed, succeeds = walk()
    finally:
        call_command("migrate", verbosity=0)
    assert not succeeds
    assert "migrations are not applied: run python manage.py migrate." in printed


# ---- with --url ------------------------------------------------------------------------------------------


def api_asks_for_a_login(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    return lambda request: (
        HttpResponseRedirect("/login/") if "/api/" in request.path else get_response(request)
    )


def api_fails(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    return lambda request: (
        HttpResponse("Server Error", status=500) if "/api/" in request.path else get_response(request)
    )


def pages_without_head(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    def middleware(request: HttpRequest) -> Any:
        response = get_response(request)
        if request.path == "/" and response.status_code == 200:
            return HttpResponse(response.content.partition(b"</head>")[2])
        return response

    return middleware


def pages_ask_for_a_second_factor(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    return lambda request: HttpResponseRedirect("/otp/") if request.path == "/" else get_response(request)


def pages_fail(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    return lambda request: (
        HttpResponse("Server Error", status=500) if request.path == "/" else get_response(request)
    )


@pytest.fixture
def ana(transactional_db: None) -> Any:
    return get_user_model().objects.create_superuser("ana")


def test_a_running_portal_under_wsgi(live_server: LiveServer, ana: Any) -> None:
    printed, succeeds = walk(url=live_server.url)
    assert succeeds, printed
    assert "✓ Requests of agents reach Ask Bridge" in printed
    assert "✓ ana gets the inbox, with its styles and scripts." in printed
    assert "✓ Static files are served." in printed
    assert "! Pages poll every 5 s" in printed


@pytest.mark.parametrize(
    ("middleware", "said"),
    [
        (api_asks_for_a_login, "✗ The portal answers agents itself, with 302 to /login/"),
        (api_fails, "✗ The portal answers agents itself, with 500: an error of the server"),
        (pages_without_head, "✗ The page has no scripts or styles"),
        (pages_ask_for_a_second_factor, "! The inbox replies 302 to /otp/ to ana"),
        (pages_fail, "✗ The inbox replies 500 to ana: an error of the server"),
    ],
)
def test_a_running_portal_with_a_fault(settings: Any, ana: Any, middleware: Any, said: str) -> None:
    settings.MIDDLEWARE = [f"{__name__}.{middleware.__name__}", *settings.MIDDLEWARE]
    server = LiveServer("127.0.0.1")  # the fixture's has loaded its middleware
    try:
        printed, succeeds = walk(url=server.url)
    finally:
        server.stop()
    assert said in printed
    assert succeeds == ("✗" not in said)


def test_a_portal_that_only_takes_https(settings: Any, ana: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True
    server = LiveServer("127.0.0.1")  # the fixture's has loaded its middleware
    try:
        printed, succeeds = walk(url=server.url)
    finally:
        server.stop()
    assert not succeeds
    assert "healthz replies 301 to https://127.0.0.1" in printed
    assert "give --url with https, as people and agents do." in printed


@pytest.fixture
def static_server() -> Iterator[tuple[str, dict[str, str]]]:
    """Another origin for static files: its address, and the headers that it sends."""
    headers = {"Content-Type": "text/javascript"}

    class Reply(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            """Not to stderr."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Reply) as server:
        Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}", headers
        server.shutdown()


def test_scripts_of_another_origin_need_its_permission(
    settings: Any, ana: Any, live_server: LiveServer, static_server: tuple[str, dict[str, str]]
) -> None:
    origin, headers = static_server
    settings.STATIC_URL = f"{origin}/files/"
    printed, succeeds = walk(url=live_server.url)
    assert f"✗ Browsers refuse the scripts of {origin}" in printed
    assert f"Access-Control-Allow-Origin: {live_server.url}." in printed
    assert not succeeds
    for allowed in (live_server.url, "*"):
        headers["Access-Control-Allow-Origin"] = allowed
        printed, succeeds = walk(url=live_server.url)
        assert "✓ Static files are served." in printed
        assert succeeds


def test_an_address_that_is_not_ours(live_server: LiveServer) -> None:
    printed, succeeds = walk(url=f"{live_server.url}/nowhere/")
    assert not succeeds
    assert "nowhere/healthz replies 404: is this the address of Ask Bridge?" in printed
    assert "cannot be reached" in walk(url="http://127.0.0.1:9/")[0]


def test_without_anybody_who_can_sign_in_the_pages_are_not_tried(live_server: LiveServer) -> None:
    printed, succeeds = walk(url=live_server.url, user="ana")
    assert succeeds, printed
    assert "name a person who can sign in with --user" in printed


def test_the_session_of_the_walk_is_gone_afterwards(live_server: LiveServer, ana: Any) -> None:
    from django.contrib.sessions.models import Session

    walk(url=live_server.url)
    assert not Session.objects.exists()


def test_without_a_table_of_sessions_the_pages_are_not_tried(live_server: LiveServer, ana: Any) -> None:
    call_command("migrate", "sessions", "zero", verbosity=0)
    try:
        printed, succeeds = walk(url=live_server.url)
    finally:
        call_command("migrate", verbosity=0)
    assert not succeeds
    assert "✓ Requests of agents reach Ask Bridge" in printed
    assert "✗ The pages are not tried, because no session can be made: " in printed


def test_its_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call_command("ask_bridge_doctor", "--help")
    assert "Example: python manage.py ask_bridge_doctor --url https://" in capsys.readouterr().out
