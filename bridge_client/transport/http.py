"""HTTP requests to the bridge: JSON in and out, typed errors, no retries."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse, IncompleteRead
from typing import Any
from urllib.parse import urlencode, urlsplit

from bridge_client.errors import ProblemError, Unreachable
from bridge_client.transport.cancellation import Cancellation
from bridge_client.transport.proxies import proxy_for
from bridge_client.version import __version__

# A bridge that accepts no connection for so long counts as down: a person may wait at the terminal.
CONNECT_SECONDS = 5
# For replies that do not wait for a person; a busy bridge needs a fraction of it.
READ_SECONDS = 15


@dataclass(frozen=True)
class Reply:
    """A successful reply (2xx)."""

    status: int
    headers: HTTPMessage
    body: Any


class Transport:
    """Sends requests to one bridge with one key."""

    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        self.url = url.rstrip("/")
        self._is_encrypted = parts.scheme == "https"
        self._authority = parts.netloc
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if self._is_encrypted else 80)
        self._prefix = parts.path.rstrip("/")
        self._key = key

    def __repr__(self) -> str:
        return f"Transport({self.url!r})"

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        connect_seconds: float = CONNECT_SECONDS,
        read_seconds: float = READ_SECONDS,
        cancellation: Cancellation | None = None,
    ) -> Reply:
        """The reply if it is a 2xx, else ProblemError; Unreachable if there is no reply."""
        data = None if body is None else json.dumps(body).encode()
        sent = {"Accept": "application/json", **(headers or {})}
        if data is not None:
            sent["Content-Type"] = "application/json"
        target = path + (f"?{urlencode(query)}" if query else "")
        with self._exchange(
            method, target, data, sent, (connect_seconds, read_seconds), cancellation
        ) as response:
            text = response.read()
            _raise_for_status(self.url, response, text)
            return Reply(response.status, response.headers, _as_json(self.url, response, text))

    @contextmanager
    def stream(
        self,
        path: str,
        *,
        headers: Mapping[str, str],
        read_seconds: float,
        cancellation: Cancellation | None = None,
    ) -> Iterator[HTTPResponse]:
        """A streaming reply, to be read line by line."""
        sent = {"Accept": "text/event-stream", **headers}
        timeouts = (CONNECT_SECONDS, read_seconds)
        with self._exchange("GET", path, None, sent, timeouts, cancellation) as response:
            if response.status != 200:
                _raise_for_status(self.url, response, response.read())
            kind = response.headers.get("Content-Type", "")
            if not kind:
                raise IncompleteRead(b"")  # the headers were cut off
            if not kind.startswith("text/event-stream"):
                raise ProblemError(response.status, "no_stream", f"{self.url} does not stream: it needs ASGI")
            yield response

    @contextmanager
    def _exchange(
        self,
        method: str,
        path: str,
        data: bytes | None,
        headers: Mapping[str, str],
        timeouts: tuple[float, float],
        cancellation: Cancellation | None,
    ) -> Iterator[HTTPResponse]:
        connect_seconds, read_seconds = timeouts
        cancellation = cancellation or Cancellation()
        cancellation.check()
        connection, origin, proxy_headers = self._connection(connect_seconds)
        with closing(connection):
            try:
                connection.connect()
            except (OSError, HTTPException) as error:
                raise self._unreachable(error, connect_seconds, was_sent=False) from None
            connection.sock.settimeout(read_seconds)
            target = f"{origin}{self._prefix}{path}"
            with cancellation.closes(connection.sock):
                try:
                    connection.request(method, target, data, {**self._headers(), **proxy_headers, **headers})
                    with closing(connection.getresponse()) as response:
                        yield response
                except (OSError, HTTPException) as error:
                    cancellation.check()
                    raise self._unreachable(error, read_seconds, was_sent=True) from None

    def _connection(self, connect_seconds: float) -> tuple[HTTPConnection, str, dict[str, str]]:
        """A connection, the prefix of each path on it, and the headers for the proxy."""
        proxy = proxy_for("https" if self._is_encrypted else "http", self._host)
        host, port = (proxy.host, proxy.port) if proxy else (self._host, self._port)
        if not self._is_encrypted:
            origin = f"http://{self._authority}" if proxy else ""
            return HTTPConnection(host, port, timeout=connect_seconds), origin, proxy.headers if proxy else {}
        # Imported only for https: loading the machine's certificates takes a while.
        import ssl
        from http.client import HTTPSConnection

        connection = HTTPSConnection(
            host, port, timeout=connect_seconds, context=ssl.create_default_context()
        )
        if proxy:
            connection.set_tunnel(self._host, self._port, headers=proxy.headers)
        return connection, "", {}

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}", "User-Agent": f"ask-bridge/{__version__}"}

    def _unreachable(self, error: Exception, seconds: float, *, was_sent: bool) -> Unreachable:
        # Only the error about a refused certificate has this attribute.
        not_trusted = getattr(error, "verify_message", "")
        if not_trusted:
            reason = f"its certificate is not trusted ({not_trusted})"
        elif isinstance(error, socket.timeout):
            reason = f"no answer within {seconds:g} seconds"
        elif isinstance(error, IncompleteRead):
            reason = "its reply was empty or cut off"
        elif isinstance(error, OSError):
            reason = (error.strerror or str(error) or type(error).__name__).lower()
        else:
            reason = "the connection broke"
        return Unreachable(
            f"Cannot reach the bridge at {self.url}: {reason}",
            was_sent=was_sent,
            is_permanent=bool(not_trusted),
        )


def _raise_for_status(url: str, response: HTTPResponse, text: bytes) -> None:
    status = response.status
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        # Not followed: the key must not be sent to another address.
        target = response.headers.get("Location", "another address")
        detail = f"{url} redirects to {target}: give the bridge's own address"
        raise ProblemError(status, "redirect", detail)
    try:
        body = json.loads(text)
    except ValueError:
        body = {}
    if not isinstance(body, dict) or "detail" not in body:
        # Not a reply of a bridge: a proxy's page, or another server.
        body = {"code": f"http_{status}", "detail": f"{url} answered {status} {response.reason}"}
    raise ProblemError(
        status,
        str(body.get("code", "")),
        str(body["detail"]),
        body,
        _retry_after_seconds(response.headers.get("Retry-After", "")),
    )


def _as_json(url: str, response: HTTPResponse, text: bytes) -> Any:
    if response.status == 204:
        return None
    kind = response.headers.get("Content-Type", "").partition(";")[0]
    try:
        return json.loads(text)
    except ValueError:
        if not text or kind in ("", "application/json"):
            # Without a Content-Length nothing else shows that the connection broke too early.
            raise IncompleteRead(text) from None
        detail = f"{url} answered with {kind} instead of JSON: is that the bridge's address, with its prefix?"
        raise ProblemError(response.status, "not_json", detail) from None


def _retry_after_seconds(text: str) -> float | None:
    if text.isdecimal():
        return float(text)
    try:
        from email.utils import parsedate_to_datetime

        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, IndexError):
        return None
