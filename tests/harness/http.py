"""HTTP as tests see it: whole replies, requests in the background, server-sent events."""

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from http.client import HTTPConnection, HTTPMessage, HTTPResponse
from threading import Thread
from typing import TYPE_CHECKING, Any

from tests.harness.timing import PATIENCE_SECONDS

if TYPE_CHECKING:
    from tests.harness.sites import Site


@dataclass(frozen=True)
class Reply:
    """A whole HTTP reply."""

    status: int
    headers: HTTPMessage
    text: str

    @property
    def status_code(self) -> int:
        """The status by the name that Django's responses have for it."""
        return self.status

    def block(self, name: str) -> str:
        """The text to copy from the element with this id."""
        found = re.search(rf'id="{name}".*?<pre[^>]*><code>(.*?)</code>', self.text, re.DOTALL)
        assert found, f"no block {name}"
        return unescape(found.group(1))

    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.text)


class BackgroundRequest:
    """A request that runs in a thread until it is answered or hung up."""

    def __init__(self, connection: HTTPConnection) -> None:
        self._connection = connection
        self._reply: Reply | None = None
        self.has_begun = False
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            response = self._connection.getresponse()
            self.has_begun = True
            self._reply = Reply(response.status, response.headers, response.read().decode())
        except (OSError, ValueError, AttributeError):
            pass  # hung up, or the server went away: there is no reply then

    def reply(self, timeout: float = PATIENCE_SECONDS) -> Reply:
        self._thread.join(timeout)
        assert self._reply is not None, f"no reply within {timeout} seconds"
        return self._reply

    def result(self, timeout: float = PATIENCE_SECONDS) -> Any:
        return self.reply(timeout).json()

    def hang_up(self) -> None:
        """Close the socket, as the kernel does for a process that is killed."""
        if self._connection.sock:
            self._connection.sock.shutdown(socket.SHUT_RDWR)
            self._connection.close()


@dataclass
class Event:
    event: str = ""
    id: str = ""
    data: str = ""


class EventStream:
    """Server-sent events, read one by one."""

    def __init__(self, response: HTTPResponse, sock: socket.socket) -> None:
        assert response.status == 200, response.read()
        self._response = response
        self._socket = sock
        # The greeting is sent after the subscription: from here on no event is missed.
        response.readline()

    def set_timeout(self, seconds: float) -> None:
        """Fail a read that takes longer."""
        self._socket.settimeout(seconds)

    def read(self) -> Event | None:
        """The next event, or None at the end."""
        event, lines = Event(), []
        while line := self._response.readline().decode():
            name, _, value = line.rstrip("\n").partition(": ")
            if name == "data":
                lines.append(value)
            elif name in ("event", "id"):
                setattr(event, name, value)
            elif not name and (event.event or lines):
                event.data = "\n".join(lines)
                return event
        return None

    def next(self) -> Event:
        event = self.read()
        assert event is not None, "the stream ended"
        return event

    def until(self, name: str, text: str = "") -> Event:
        """The next event of this name that contains the text."""
        while (event := self.next()).event != name or text not in event.data:
            pass
        return event

    def until_keep_alive(self) -> None:
        """Read up to the comment that a stream without events sends from time to time."""
        while (line := self._response.readline()) != b": keep-alive\n":
            assert line, "the stream ended"

    def wait_for_end(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        # By line: an idle stream sends comments only, and `read` waits for an event.
        while self._response.readline():
            assert time.monotonic() < deadline, f"still open after {seconds} seconds"
        assert time.monotonic() < deadline


class MessageStream(EventStream):
    """The messages of a room, as an agent gets them."""

    def next(self) -> Any:  # type: ignore[override] # the messages themselves
        return json.loads(super().next().data)


def begun_reply(site: "Site", method: str, path: str, headers: dict[str, str], body: Any = None) -> Reply:
    """The whole reply, but of a stream only its beginning: status and headers."""
    connection = site.connect()
    try:
        connection.request(method, path, body=body, headers=headers)
        response = connection.getresponse()
        is_stream = response.headers.get_content_type() == "text/event-stream"
        return Reply(response.status, response.headers, "" if is_stream else response.read().decode())
    finally:
        connection.close()


@contextmanager
def open_response(
    site: "Site", path: str, headers: dict[str, str]
) -> Iterator[tuple[HTTPResponse, socket.socket]]:
    """The headers have arrived; the body is read by the caller."""
    connection = site.connect()
    connection.timeout = 40  # longer than anything that a test waits for on a stream
    connection.request("GET", path, headers=headers)
    sock = connection.sock
    try:
        yield connection.getresponse(), sock
    finally:
        connection.close()
