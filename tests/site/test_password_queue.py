"""Passwords of all forms are hashed in a thread of their own, so that pages stay fast."""

import asyncio
import threading
from collections.abc import Callable
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import MD5PasswordHasher
from django.db import connections
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from bridge import urls
from bridge.handler import PooledHandler
from bridge.password_queue import FORMS, HASHES_AT_ONCE, LONGEST_QUEUE, PasswordQueue, hashes_password
from tests.harness.timing import PATIENCE_SECONDS

PASSWORD = "correct horse battery staple"
NEW = {"new_password1": "another long sentence", "new_password2": "another long sentence"}


class NotedHasher(MD5PasswordHasher):
    """Notes the thread that it works in."""

    threads: list[str] = []

    def encode(self, *args: Any, **kwargs: Any) -> str:
        self.threads.append(threading.current_thread().name)
        return super().encode(*args, **kwargs)


@pytest.fixture
def admin(transactional_db: None, settings: Any) -> Any:
    settings.PASSWORD_HASHERS = [f"{__name__}.NotedHasher"]
    user = get_user_model().objects.create_superuser("ana", password=PASSWORD)
    NotedHasher.threads.clear()
    return user


def post(path: str, fields: dict[str, str], cookies: SimpleCookie | None = None) -> int:
    """The status of a form that is sent through the handler of the site."""
    token = "t" * 32
    cookie = "; ".join([f"csrftoken={token}", *(f"{name}={c.value}" for name, c in (cookies or {}).items())])
    body = urlencode({"csrfmiddlewaretoken": token, **fields}).encode()
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [
            (b"host", b"localhost"),
            (b"cookie", cookie.encode()),
            (b"content-type", b"application/x-www-form-urlencoded"),
            (b"content-length", str(len(body)).encode()),
        ],
    }
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def run() -> None:
        handler = PooledHandler()
        await handler(scope, receive, send)
        # Its threads outlive the test, their connections must not.
        await handler._threads.run(connections.close_all)
        await handler._password_queue.run(connections.close_all)

    asyncio.run(run())
    return int(sent[0]["status"])


@pytest.mark.parametrize("path", ["/login/", "/admin/login/"])
@pytest.mark.parametrize("username", ["ana", "made-up"])
def test_a_login_is_checked_in_the_queue(admin: Any, path: str, username: str) -> None:
    assert post(path, {"username": username, "password": "wrong"}) == 200
    assert set(NotedHasher.threads) == {"password-1"}


def changes(admin: Any) -> dict[str, tuple[str, dict[str, str]]]:
    new_user = {"username": "ben", "password1": PASSWORD, "password2": PASSWORD, "usable_password": "true"}
    return {
        "password_change": ("/password/", {"old_password": PASSWORD, **NEW}),
        "admin:password_change": ("/admin/password_change/", {"old_password": PASSWORD, **NEW}),
        "admin:auth_user_add": ("/admin/auth/user/add/", new_user),
        "admin:auth_user_password_change": (
            f"/admin/auth/user/{admin.pk}/password/",
            {"password1": PASSWORD, "password2": PASSWORD, "usable_password": "true"},
        ),
    }


# Of pages that a site has only if it is configured so: tests/site/test_password_reset.py has these.
OPTIONAL_FORMS = {"password_reset", "password_reset_confirm", "admin_login"}


@pytest.mark.parametrize("form", sorted(FORMS - OPTIONAL_FORMS - {"login", "admin:login"}))
def test_a_new_password_is_hashed_in_the_queue(admin: Any, form: str) -> None:
    client = Client()
    client.force_login(admin)
    path, fields = changes(admin)[form]
    assert post(path, fields, client.cookies) == 302
    assert set(NotedHasher.threads) == {"password-1"}


def test_every_address_with_a_word_for_passwords_or_logins_is_in_the_queue() -> None:
    every = names([*get_resolver().url_patterns, *urls.PASSWORD_RESET, *urls.SINGLE_SIGN_ON])
    named = {name for name in every if "password" in name or "login" in name}
    # The page after a change has no form.
    assert {name for name in named if not name.endswith(("_done", "_complete"))} <= FORMS


def names(patterns: list[Any], namespace: str = "") -> set[str]:
    found = set()
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            inside = f"{namespace}{pattern.namespace}:" if pattern.namespace else namespace
            found |= names(pattern.url_patterns, inside)
        elif isinstance(pattern, URLPattern) and pattern.name:
            found.add(f"{namespace}{pattern.name}")
    return found


@pytest.mark.parametrize(
    ("method", "path", "is_hashed"),
    [
        ("POST", "/login/", True),
        ("PUT", "/login/", True),
        ("GET", "/login/", False),
        ("POST", "/logout/", False),
        ("POST", "/rooms/lobby/messages", False),
        ("POST", "/nothing/here", False),
    ],
)
def test_only_forms_with_a_password_are_in_the_queue(method: str, path: str, is_hashed: bool) -> None:
    assert hashes_password({"method": method, "path": path}) is is_hashed


def test_the_queue_runs_one_at_a_time_and_says_when_it_is_full() -> None:
    may_end = threading.Event()
    at_once: list[int] = []
    running: list[None] = []

    def hash_password() -> None:
        running.append(None)
        at_once.append(len(running))
        assert may_end.wait(PATIENCE_SECONDS)
        running.pop()

    async def fill(queue: PasswordQueue) -> None:
        loop = asyncio.get_running_loop()
        tasks = []
        for _ in range(HASHES_AT_ONCE + LONGEST_QUEUE):
            assert not queue.is_full
            tasks.append(loop.create_task(queue.run(hash_password)))
            await asyncio.sleep(0)  # lets the task begin
        assert queue.is_full
        may_end.set()
        await asyncio.gather(*tasks)
        assert not queue.is_full

    asyncio.run(fill(PasswordQueue()))
    assert max(at_once) == HASHES_AT_ONCE
    assert len(at_once) == HASHES_AT_ONCE + LONGEST_QUEUE


def test_a_failure_leaves_the_queue() -> None:
    queue = PasswordQueue()

    def fail() -> None:
        raise LookupError

    async def fail_often(run: Callable[..., Any]) -> None:
        for _ in range(HASHES_AT_ONCE + LONGEST_QUEUE + 1):
            with pytest.raises(LookupError):
                await run(fail)

    asyncio.run(fail_often(queue.run))
    assert not queue.is_full
