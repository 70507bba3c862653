"""Requests that `manage.py ask_bridge_doctor --url` makes, as an agent, a monitoring system and a browser."""

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from http.client import HTTPException
from importlib import import_module
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from django.conf import settings
from django.contrib.auth import (
    BACKEND_SESSION_KEY,
    HASH_SESSION_KEY,
    SESSION_KEY,
    get_user_model,
    load_backend,
)
from django.db import DatabaseError

from rooms.management.doctor import Finding, failed, note, ok, warning

# A portal that takes longer is no place for people either.
REPLY_SECONDS = 10
# A stream sends its first line at once; a proxy that buffers sends nothing.
FIRST_LINE_SECONDS = 5
WRONG_KEY = "abk_doctor"
IN_THE_LOG = "an error of the server, which its log describes."


class SameAddress(HTTPRedirectHandler):
    """Redirects are replies: a login page instead of JSON is what the walk looks for."""

    def redirect_request(self, *args: Any) -> None:
        return None


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    text: str = ""

    @property
    def words(self) -> str:
        """The status, and where a redirect leads."""
        place = self.headers.get("Location")
        return f"{self.status} to {place}" if place else str(self.status)

    def json(self) -> Any:
        try:
            return json.loads(self.text)
        except ValueError:
            return None


def send(address: str, **headers: str) -> Reply:
    """A request, and its whole reply; every status is one."""
    with _open(address, REPLY_SECONDS, headers) as raw:
        return Reply(raw.status, raw.headers, raw.read().decode(errors="replace"))


def _open(address: str, seconds: float, headers: dict[str, str], body: bytes | None = None) -> Any:
    if urlsplit(address).scheme not in ("http", "https"):
        raise ValueError(f"{address} is no web address")
    request = Request(address, data=body, headers={"User-Agent": "ask_bridge_doctor", **headers})  # noqa: S310
    try:
        return build_opener(SameAddress).open(request, timeout=seconds)
    except HTTPError as error:
        return error


def findings(url: str, username: str) -> Iterator[Finding]:
    """Everything that the running portal replies at this address."""
    base = url.rstrip("/") + "/"
    try:
        health = send(f"{base}healthz")
        if health.status != 200 or health.json() != {"status": "ok"}:
            hint = _hint(base, health) or "is this the address of Ask Bridge?"
            yield failed(f"{base}healthz replies {health.words}: {hint}")
            return
        yield ok(f"The portal replies at {base}")
        yield from _readiness(base)
        yield from _api(base)
        yield from _pages(base, username)
    except DatabaseError as error:
        yield failed(f"The pages are not tried, because no session can be made: {error}")
    except (OSError, HTTPException, ValueError) as error:
        yield failed(f"{base} cannot be reached: {error}")


def _readiness(base: str) -> Iterator[Finding]:
    ready = send(f"{base}readyz")
    states = ready.json()
    if ready.status == 200:
        yield ok("The running process reaches its database and its channel layer.")
    else:
        yield failed(f"{base}readyz replies {ready.words}: {states}")


def _api(base: str) -> Iterator[Finding]:
    reply = send(f"{base}api/v1/rooms/doctor/questions", Authorization=f"Bearer {WRONG_KEY}")
    body = reply.json()
    if reply.status == 401 and isinstance(body, dict) and body.get("code") == "unauthorized":
        yield ok("Requests of agents reach Ask Bridge, which asks for a key.")
    else:
        hint = _hint(base, reply)
        hint = hint or "agents have no session, so its middleware has to let paths below api/ through."
        yield failed(f"The portal answers agents itself, with {reply.words}: {hint}")


def _hint(base: str, reply: Reply) -> str:
    """What is wrong with the address or the portal itself, if the reply tells."""
    if reply.status >= 500:
        return IN_THE_LOG
    if reply.status == 400:
        return "give --url with a host of ALLOWED_HOSTS."
    if base.startswith("http:") and reply.headers.get("Location", "").startswith("https:"):
        return "give --url with https, as people and agents do."
    return ""


# ---- as a person -----------------------------------------------------------------------------------------


def _pages(base: str, username: str) -> Iterator[Finding]:
    users = get_user_model()._default_manager.filter(is_active=True)
    named = {get_user_model().USERNAME_FIELD: username} if username else {"is_superuser": True}
    user = users.filter(**named).order_by("pk").first()
    if user is None:
        yield note("The pages are not tried: name a person who can sign in with --user.")
        return
    with _session_of(user) as key:
        if key is None:
            yield note(f"The pages are not tried: no backend of AUTHENTICATION_BACKENDS knows {user}.")
        else:
            yield from _page(base, user, f"{settings.SESSION_COOKIE_NAME}={key}")


@contextmanager
def _session_of(user: Any) -> Iterator[str | None]:
    """A session of this person for a few seconds, as after a login."""
    backends = (path for path in settings.AUTHENTICATION_BACKENDS if _knows(load_backend(path), user))
    backend = next(backends, None)
    if backend is None:
        yield None
        return
    session = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY] = user._meta.pk.value_to_string(user)
    session[BACKEND_SESSION_KEY] = backend
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    try:
        yield session.session_key
    finally:
        session.delete()


def _knows(backend: Any, user: Any) -> bool:
    """Whether a session can name this backend; some only refuse logins."""
    return hasattr(backend, "get_user") and backend.get_user(user.pk) is not None


def _page(base: str, user: Any, cookie: str) -> Iterator[Finding]:
    reply = send(base, Cookie=cookie)
    if reply.status >= 500:
        yield failed(f"The inbox replies {reply.words} to {user}: {IN_THE_LOG}")
        return
    if reply.status != 200:
        yield warning(
            f"The inbox replies {reply.words} to {user}: the portal asks for more than a session, such as a "
            "second factor. Look at it in a browser."
        )
        return
    page = reply.text
    scripts = re.findall(r'<script[^>]*\ssrc="([^"]*ask_bridge/js/start[^"]*)"', page)
    if 'id="ab-layout"' not in page or not re.search(r'class="[^"]*\bask-bridge\b', page):
        yield failed(
            'The page is empty: ask_bridge/base.html needs {% block ask_bridge %} in class="ask-bridge".'
        )
        return
    if not scripts or "ask_bridge/css/" not in page:
        yield failed(
            "The page has no scripts or styles: ask_bridge/base.html needs _styles.html and "
            "{% block ask_bridge_head %} inside <head>."
        )
        return
    yield ok(f"{user} gets the inbox, with its styles and scripts.")
    yield from _script(base, urljoin(base, unescape(scripts[0])))
    stream = re.search(r'sse-connect="([^"]+)"', page)
    if stream:
        yield from _stream(urljoin(base, unescape(stream.group(1))), cookie)


def _script(base: str, address: str) -> Iterator[Finding]:
    page, place = (f"{parts.scheme}://{parts.netloc}" for parts in map(urlsplit, (base, address)))
    reply = send(address, **({"Origin": page} if place != page else {}))
    kind = reply.headers.get("Content-Type", "")
    if reply.status != 200 or "javascript" not in kind:
        yield failed(
            f"{address} replies {reply.words} ({kind}): does the server or the proxy serve static files?"
        )
    elif place != page and reply.headers.get("Access-Control-Allow-Origin") not in ("*", page):
        yield failed(
            f"Browsers refuse the scripts of {place}: let it send Access-Control-Allow-Origin: {page}."
        )
    else:
        yield ok("Static files are served.")


def _stream(address: str, cookie: str) -> Iterator[Finding]:
    began = time.monotonic()
    try:
        with _open(address, FIRST_LINE_SECONDS, {"Cookie": cookie}, b"") as raw:
            reply = Reply(raw.status, raw.headers)
            polls = reply.headers.get("Retry-After")
            is_silent = reply.status == 200 and not polls and not raw.readline()
    except TimeoutError:
        is_silent = True
    if is_silent:
        yield failed("The stream sends nothing: a proxy buffers it, see the example in docs/deployment.md.")
    elif reply.status != 200:
        yield failed(f"The stream replies {reply.words}: pages stay as they were loaded.")
    elif polls:
        yield warning(
            f"Pages poll every {polls} s, and agents as well: the server runs WSGI, or another application "
            "than the one with with_live."
        )
    else:
        yield ok(f"Pages are live: the stream sent its first line after {time.monotonic() - began:.2f} s.")
