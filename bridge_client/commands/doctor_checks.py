"""The checks of `ask-bridge doctor`: each has a finding, and a sentence that says how to fix it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from bridge_client.errors import ClientError, ProblemError, Unreachable
from bridge_client.settings import Settings
from bridge_client.transport.http import Reply, Transport
from bridge_client.transport.proxies import is_loopback, proxy_for
from bridge_client.version import __version__

# Times on cards come from the server: with a larger skew "2 minutes ago" is wrong.
CLOCK_SKEW_SECONDS = 30
# An unbuffered stream starts as soon as the request arrives; one that takes longer is buffered by a proxy.
FIRST_BYTE_SECONDS = 5.0
# `claude --version` starts a whole Node program.
CLAUDE_SECONDS = 20
# The oldest version that the hooks were tested with.
CLAUDE_VERSION = (2, 1)


@dataclass(frozen=True)
class Check:
    """The name of a check, its finding, and how to fix it if it failed."""

    name: str
    found: str
    fix: str = ""

    @property
    def is_ok(self) -> bool:
        return not self.fix

    def __str__(self) -> str:
        line = f"{'ok ' if self.is_ok else 'FIX'} {self.name:<9} {self.found}"
        return line if self.is_ok else f"{line}: {self.fix}"


def run_checks(settings: Settings) -> Iterator[Check]:
    """All checks that make sense, each after those that it depends on."""
    transport = Transport(settings.url, settings.key)
    try:
        started = time.monotonic()
        reply = transport.request("GET", "/healthz")
        milliseconds = (time.monotonic() - started) * 1000
        is_healthy = isinstance(reply.body, dict) and reply.body.get("status") == "ok"
    except ClientError as error:
        yield from _no_address(settings, error)
    else:
        if is_healthy:
            yield Check("address", f"{settings.url} answers within {milliseconds:.0f} ms{_through(settings)}")
        else:
            fix = "give the bridge's address, with the prefix under which the portal has it"
            yield Check("address", f"{settings.url} answers, but is no Ask Bridge", fix)
        yield _encryption(settings)
        yield from _room(transport, settings)
        yield _clock(reply)
        yield _version(transport)
    yield _claude_code()


def _through(settings: Settings) -> str:
    proxy = proxy_for("https" if settings.is_encrypted else "http", settings.host)
    return f", through the proxy {proxy.host}:{proxy.port}" if proxy else ""


def _no_address(settings: Settings, error: ClientError) -> Iterator[Check]:
    if isinstance(error, Unreachable) and error.is_permanent:
        fix = "install your company's root certificate, or name it in SSL_CERT_FILE"
        yield Check("tls", str(error), fix)
    elif isinstance(error, ProblemError):
        fix = "give the bridge's address, with the prefix under which the portal has it"
        yield Check("address", str(error), fix)
    else:
        fix = "check ASK_BRIDGE_URL, and whether the bridge runs and can be reached from this network"
        yield Check("address", str(error) + _through(settings), fix)


def _encryption(settings: Settings) -> Check:
    if settings.is_encrypted:
        return Check("tls", "the connection is encrypted and its certificate is trusted")
    if is_loopback(settings.host):
        return Check("tls", "not needed on this machine itself")
    return Check("tls", "the key travels unencrypted", "use the bridge's https:// address")


def _room(transport: Transport, settings: Settings) -> Iterator[Check]:
    path = f"/api/v1/rooms/{settings.room}"
    try:
        transport.request("GET", f"{path}/messages", query={"limit": 1})
    except ProblemError as error:
        if error.status == 401:
            fix = "make a new one on the room's Connect page and set ASK_BRIDGE_KEY"
            yield Check("key", "the bridge refuses this key", fix)
        elif error.status == 404:
            yield Check("key", "the bridge accepts this key")
            fix = "a key opens one room only: set ASK_BRIDGE_ROOM to its own"
            yield Check("room", f"{settings.room} is not the room of this key", fix)
        else:
            yield Check("room", str(error), "look at the bridge's log")
        return
    except ClientError as error:
        yield Check("room", str(error), "try again")
        return
    yield Check("key", "the bridge accepts this key")
    yield Check("room", f"{settings.room} is open to this key")
    yield _streaming(transport, path)


def _streaming(transport: Transport, path: str) -> Check:
    fix = "switch off buffering for streams in the proxy in front of the bridge (nginx: proxy_buffering off)"
    started = time.monotonic()
    try:
        with transport.stream(f"{path}/events", headers={}, read_seconds=FIRST_BYTE_SECONDS) as response:
            response.readline()
    except Unreachable:
        return Check("streams", f"nothing came within {FIRST_BYTE_SECONDS:g} seconds", fix)
    except ProblemError as error:
        return Check("streams", str(error), "start the portal with an ASGI server such as daphne")
    return Check("streams", f"the first byte came after {(time.monotonic() - started) * 1000:.0f} ms")


def _clock(reply: Reply) -> Check:
    try:
        server = parsedate_to_datetime(reply.headers.get("Date", "")).timestamp()
    except (TypeError, ValueError, IndexError):
        return Check("clock", "the bridge does not send its time")
    skew = time.time() - server
    if abs(skew) <= CLOCK_SKEW_SECONDS:
        return Check("clock", "this machine and the bridge agree on the time")
    direction = "ahead of" if skew > 0 else "behind"
    return Check("clock", f"{abs(skew):.0f} seconds {direction} the bridge", "set this machine's clock (NTP)")


def _version(transport: Transport) -> Check:
    server = _server_version(transport)
    if server is None:
        return Check("version", f"client {__version__}; the bridge does not send its own")
    if _release(server) == _release(__version__):
        return Check("version", f"client {__version__}, bridge {server}")
    return Check(
        "version", f"client {__version__}, bridge {server}", f"install ask-bridge {server} on this machine"
    )


def _server_version(transport: Transport) -> str | None:
    try:
        document: Any = transport.request("GET", "/api/v1/openapi.json").body
        return str(document["info"]["version"])
    except (ClientError, KeyError, TypeError):
        return None


def _release(version: str) -> list[str]:
    """Releases that differ only in the last number are compatible."""
    return version.split(".")[:2]


def _claude_code() -> Check:
    program = shutil.which("claude")
    if not program:
        return Check("claude", "Claude Code is not on the PATH; only its hooks need it")
    try:
        done = subprocess.run(  # noqa: S603 -- the person's own program
            [program, "--version"], capture_output=True, text=True, timeout=CLAUDE_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return Check("claude", f"{program} does not run", "install Claude Code again")
    found = re.match(r"(\d+)\.(\d+)\S*", done.stdout.strip())
    if not found:
        return Check("claude", f"{program} does not print its version", "install Claude Code again")
    if (int(found.group(1)), int(found.group(2))) < CLAUDE_VERSION:
        wanted = ".".join(map(str, CLAUDE_VERSION))
        return Check(
            "claude", f"Claude Code {found.group(0)}", f"update it to {wanted} or newer: claude update"
        )
    return Check("claude", f"Claude Code {found.group(0)}")


def as_json(checks: list[Check]) -> str:
    return json.dumps(
        [
            {"name": each.name, "ok": each.is_ok, "found": each.found, "fix": each.fix or None}
            for each in checks
        ]
    )
