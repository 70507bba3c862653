"""`manage.py serve`: migrates, explains what is wrong, stops cleanly."""

import json
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.harness.http import Reply
from tests.harness.metrics import TOKEN, value
from tests.harness.people import Visitor
from tests.harness.sites import Site

Serve = Callable[..., Site]
Manage = Callable[..., subprocess.CompletedProcess[str]]

STOP_SECONDS = 5
PRODUCTION = {"PRODUCTION": "1", "SECRET_KEY": "k" * 60, "ALLOWED_HOSTS": "ask.example.org"}
QUESTION = {"question": "Go on?", "options": ["Yes", "No"]}


def key_of(site: Site) -> str:
    (key,) = set(re.findall(r"abk_\w+", site.printed))
    return key


def password_of(site: Site) -> str:
    (password,) = re.findall(r"Password +(\S+)", site.printed)
    return password


def api(site: Site, method: str, path: str, key: str, body: object = None) -> Reply:
    return site.request(
        method,
        f"/api/v1/{path}",
        body=None if body is None else json.dumps(body),
        headers=json_headers(key),
    )


def json_headers(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}


def ask(site: Site, key: str) -> str:
    return str(api(site, "POST", "rooms/lobby/questions", key, QUESTION).json()["id"])


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def assert_refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """One sentence on stderr that says these words."""
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1, done.stderr
    for word in words:
        assert word in done.stderr


# ---- the first start and later ones --------------------------------------------------------------


def test_first_start_prints_a_login_that_works(serve: Serve) -> None:
    site = serve()
    form = site.request("GET", "/login/")
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form.text)
    assert token
    cookie = SimpleCookie(form.headers["Set-Cookie"])["csrftoken"].value
    signed_in = site.request(
        "POST",
        "/login/",
        body=urlencode(
            {
                "username": "admin",
                "password": password_of(site),
                "csrfmiddlewaretoken": token[1],
            }
        ),
        headers={
            "Content-Type": "application/x-www-form-urlencoded",
            "Cookie": f"csrftoken={cookie}",
        },
    )
    assert signed_in.status == 302
    assert "sessionid=" in str(signed_in.headers)


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_first_start_prints_a_command_that_asks(serve: Serve) -> None:
    site = serve()
    (lines,) = re.findall(r"^KEY=.*?'$", site.printed, re.MULTILINE | re.DOTALL)
    lines = lines.replace("wait=55", "wait=0")
    done = subprocess.run(lines, shell=True, capture_output=True, check=True)  # noqa: S602
    assert json.loads(done.stdout)["status"] == "open"
    # The prompt of the shell is on its own line.
    assert done.stdout.endswith(b"}\n")


def test_first_start_prints_a_short_text_and_a_link_that_signs_in_once(serve: Serve) -> None:
    site = serve()
    assert len(site.printed.splitlines()) < 22
    (path,) = re.findall(rf"Sign in +http://127.0.0.1:{site.port}(/welcome/\S+)", site.printed)
    visitor = Visitor(site)
    page = visitor.get(path)
    assert page.status == 200
    signed_in = visitor.post(path, {})
    assert (signed_in.status, signed_in.headers["Location"]) == (302, "/rooms/lobby")
    assert visitor.get("/rooms/lobby").status == 200
    assert visitor.get(path).status == 404


def test_second_start_prints_the_address_and_changes_nothing(serve: Serve) -> None:
    first = serve()
    key = key_of(first)
    ask(first, key)
    assert first.stop() == (0, "")
    second = serve()
    line = r"Ask Bridge is running on http://127.0.0.1:\d+ \(press Ctrl-C to stop\)\n"
    assert re.fullmatch(line, second.printed)
    assert len(api(second, "GET", "rooms/lobby/questions", key).json()["questions"]) == 1


def test_a_site_that_has_people_gets_no_second_admin(serve: Serve, manage: Manage) -> None:
    assert manage("migrate").returncode == 0
    made = manage(
        "createsuperuser",
        "--no-input",
        "--username=ana",
        "--email=",
        DJANGO_SUPERUSER_PASSWORD="x1y2z3",
    )
    assert made.returncode == 0, made.stderr
    assert "Password" not in serve().printed


def test_processes_that_start_together_on_postgres_greet_once(
    serve: Serve, postgres_and_redis: dict[str, str]
) -> None:
    with ThreadPoolExecutor() as pool:
        sites = list(pool.map(lambda _: serve(**postgres_and_redis), range(3)))
    (first,) = [site for site in sites if "Password" in site.printed]
    for site in sites:
        assert api(site, "GET", "rooms/lobby/questions", key_of(first)).status == 200
    for site in sites:
        assert site.stop() == (0, "")


def test_the_lock_of_a_start_belongs_to_a_transaction(
    manage: Manage, postgres_and_redis: dict[str, str]
) -> None:
    """PgBouncer in transaction mode would leave a lock of the session to other processes."""
    look = """
from django.db import connection
from bridge.preflight import startup_lock
with startup_lock(), connection.cursor() as cursor:
    cursor.execute(
        "SELECT state FROM pg_stat_activity JOIN pg_locks USING (pid) "
        "WHERE locktype = 'advisory' AND datname = current_database()"
    )
    print(cursor.fetchall())
"""
    done = manage("shell", "-v0", "-c", look, **postgres_and_redis)
    assert done.stdout == "[('idle in transaction',)]\n", done.stderr


def test_help_shows_an_example(manage: Manage) -> None:
    shown = manage("serve", "--help").stdout
    assert "python manage.py serve --host 0.0.0.0 --port 8080" in shown


# ---- what can be wrong ---------------------------------------------------------------------------


def test_a_taken_port_is_refused(manage: Manage) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert_refused(manage("serve", "--port", str(port)), f"Port {port}", "taken", "PORT=")


def test_an_address_of_another_machine_is_refused(manage: Manage) -> None:
    assert_refused(manage("serve", HOST="192.0.2.1"), "192.0.2.1", "HOST")


@pytest.mark.usefixtures("migrated")
def test_a_second_process_on_the_same_data_is_refused(serve: Serve, manage: Manage) -> None:
    serve()
    assert_refused(manage("serve"), "already runs", "PostgreSQL or MariaDB, and Redis")


@pytest.mark.parametrize("command", ["serve", "migrate"])
def test_an_unreachable_database_is_named_without_its_password(manage: Manage, command: str) -> None:
    done = manage(command, DATABASE_URL="postgres://ana:hunter2@127.0.0.1:1/ask")
    assert_refused(done, "PostgreSQL at 127.0.0.1:1", "Connection refused", "DATABASE_URL")
    assert "hunter2" not in done.stderr


def test_a_missing_database_is_named(manage: Manage, postgres_and_redis: dict[str, str]) -> None:
    url = postgres_and_redis["DATABASE_URL"] + "_missing"
    assert_refused(manage("serve", DATABASE_URL=url), "_missing", "does not exist", "DATABASE_URL")


def test_a_file_that_is_no_database_is_refused(manage: Manage, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "ask-bridge.sqlite3").write_text("a shopping list\n" * 100)
    assert_refused(manage("serve"), "ask-bridge.sqlite3", "not a database")


@pytest.mark.parametrize("options", ["", "?no_such_option=1"])
def test_an_unusable_redis_is_named_without_its_password(manage: Manage, options: str) -> None:
    done = manage("serve", REDIS_URL=f"redis://:hunter2@127.0.0.1:1/0{options}")
    assert_refused(done, "Redis at 127.0.0.1:1", "REDIS_URL")
    assert "hunter2" not in done.stderr


# ---- production ----------------------------------------------------------------------------------


def test_production_is_https_only_but_for_probes(serve: Serve) -> None:
    site = serve(**PRODUCTION, STATIC_DIR="")
    assert "https://ask.example.org/api/v1/" in site.printed
    assert "/welcome/" not in site.printed
    assert site.request("GET", "/healthz").status == 200
    plain = site.request("GET", "/login/", headers={"Host": "ask.example.org"})
    assert plain.status == 301
    assert plain.headers["Location"] == "https://ask.example.org/login/"
    proxied = {"Host": "ask.example.org", "X-Forwarded-Proto": "https"}
    page = site.request("GET", "/login/", headers=proxied)
    assert page.status == 200
    assert "Secure" in page.headers["Set-Cookie"]
    assert page.headers["Strict-Transport-Security"]
    style = re.search(r'href="(/static/[^"]+\.[0-9a-f]{12}\.css)"', page.text)
    assert style, "static files carry a hash in their names"
    assert "immutable" in site.request("GET", style[1], headers=proxied).headers["Cache-Control"]


@pytest.mark.usefixtures("migrated")
def test_a_foreign_host_name_is_refused(serve: Serve) -> None:
    assert serve().request("GET", "/login/", headers={"Host": "evil.example"}).status == 400


# ---- requests that want too much -----------------------------------------------------------------


@pytest.mark.usefixtures("migrated")
@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "chunked"])
def test_a_huge_body_is_refused_and_never_kept(serve: Serve, chunked: bool) -> None:
    site = serve()
    huge = json.dumps(QUESTION | {"header": "x" * 5_000_000}).encode()
    refused = site.request(
        "POST",
        "/api/v1/rooms/lobby/questions",
        body=iter([huge]) if chunked else huge,
        headers=json_headers(key_of(site)),
    )
    assert refused.status == 413
    assert refused.headers["Content-Type"] == "application/problem+json"


@pytest.mark.usefixtures("migrated")
def test_a_client_cannot_bend_redirects(serve: Serve) -> None:
    page = serve().request("GET", "/", headers={"Daphne-Root-Path": "/evil"})
    assert page.status == 302
    assert page.headers["Location"].startswith("/login/")


@pytest.mark.usefixtures("migrated")
def test_replies_do_not_name_the_server_and_upgrades_are_ignored(serve: Serve) -> None:
    page = serve().request(
        "GET",
        "/healthz",
        headers={
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        },
    )
    assert page.status == 200
    assert "Server" not in page.headers


# ---- stopping ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("migrated")
@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_site_stops_at_once_and_quietly(serve: Serve, signal_number: int) -> None:
    site = serve()
    started = time.monotonic()
    assert site.stop(signal_number) == (0, "")
    assert time.monotonic() - started < STOP_SECONDS


@pytest.mark.usefixtures("migrated")
def test_stopping_answers_every_waiting_agent(serve: Serve) -> None:
    site = serve(METRICS_TOKEN=TOKEN)
    key = key_of(site)
    question = ask(site, key)

    def wait(_: int) -> tuple[int, str | None, Any]:
        reply = api(site, "GET", f"questions/{question}?wait=55", key)
        return reply.status, reply.headers["Retry-After"], reply.json()["code"]

    agents = 50
    with ThreadPoolExecutor(agents) as pool:
        replies = pool.map(wait, range(agents))
        wait_until(lambda: value(site, "ask_bridge_waiting_agents") == agents)
        wait_until(lambda: api(site, "GET", f"questions/{question}", key).json()["agent"]["active"])
        started = time.monotonic()
        assert site.stop() == (0, "")
        assert time.monotonic() - started < STOP_SECONDS
        for status, retry_after, code in replies:
            assert status == 503
            assert retry_after
            assert code


@pytest.mark.usefixtures("migrated")
def test_stopping_ends_streams_and_half_sent_requests(serve: Serve) -> None:
    site = serve()
    stream = site.connect()
    stream.request("GET", "/api/v1/rooms/lobby/events", headers=json_headers(key_of(site)))
    opened = stream.getresponse()
    assert opened.status == 200
    ended = threading.Thread(target=opened.read)
    ended.start()
    with socket.create_connection(("127.0.0.1", site.port)) as half_sent:
        half_sent.sendall(b"GET /healthz HTTP/1.1\r\nHost: local")
        started = time.monotonic()
        assert site.stop() == (0, "")
        assert time.monotonic() - started < STOP_SECONDS
    ended.join(STOP_SECONDS)
    assert not ended.is_alive()
    stream.close()
