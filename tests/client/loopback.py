"""A small loopback server in front of a bridge that drops, refuses, delays and counts on demand."""

import socket
import ssl
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field

from tests.harness.timing import PATIENCE_SECONDS, eventually


@dataclass
class Request:
    """What arrived, and when."""

    method: str
    target: str
    headers: dict[str, str]
    head: bytes
    body: bytes
    at: float = field(default_factory=time.monotonic)


Behaviour = Callable[["Front", socket.socket, Request], None]


def drop(front: "Front", client: socket.socket, request: Request) -> None:
    """Hang up without a word."""


def reset(front: "Front", client: socket.socket, request: Request) -> None:
    """What the kernel does for a killed process: the connection is reset."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def send_bytes(*parts: bytes) -> Behaviour:
    """Exactly these bytes, then the end of the connection."""

    def send(front: "Front", client: socket.socket, request: Request) -> None:
        client.sendall(b"".join(parts))

    return send


def drop_after_forwarding(front: "Front", client: socket.socket, request: Request) -> None:
    """The bridge gets the request and replies, but the reply is lost on its way."""
    with closing(front.forwarded(request)) as bridge:
        bridge.recv(65536)


def reply(status: int, **headers: str) -> Behaviour:
    """A page of a proxy instead of the bridge."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]

    def send(front: "Front", client: socket.socket, request: Request) -> None:
        body = b"<html>not the bridge</html>"
        head = [f"HTTP/1.1 {status} Whatever", "Content-Type: text/html", f"Content-Length: {len(body)}"]
        client.sendall("\r\n".join([*head, *lines, "", ""]).encode() + body)

    return send


JSON_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
EMPTY_OR_CUT: dict[str, Behaviour] = {
    "no reply": drop,
    "reset": reset,
    "half a status": send_bytes(b"HTTP/1.1 20"),
    "half a head": send_bytes(b"HTTP/1.1 200 OK\r\nContent-Ty"),
    "no body": send_bytes(JSON_HEAD, b"Content-Length: 0\r\n\r\n"),
    "only blanks": send_bytes(JSON_HEAD, b"Content-Length: 2\r\n\r\n  "),
    "half a body": send_bytes(JSON_HEAD, b'Content-Length: 99\r\n\r\n{"id": "q_1", "st'),
    "half a chunk": send_bytes(JSON_HEAD, b'Transfer-Encoding: chunked\r\n\r\n63\r\n{"id": "q_'),
    "half a body without a length": send_bytes(JSON_HEAD, b'Connection: close\r\n\r\n{"id": "q_1", "st'),
}
# What agents see of a bridge that fails and restarts: one of each kind.
OUTAGE = (reply(500), reset, reply(503, Retry_After="0"), EMPTY_OR_CUT["half a head"], reply(502))


def hold_back(front: "Front", client: socket.socket, request: Request) -> None:
    """A proxy that buffers: nothing of the reply arrives as long as it goes on."""
    with closing(front.forwarded(request)):
        client.recv(1)  # until the client gives up


def tunnel(front: "Front", client: socket.socket, request: Request) -> None:
    """What a proxy does with CONNECT, to wherever `front.tunnel_port` says."""
    with closing(socket.create_connection(("127.0.0.1", front.tunnel_port))) as target:
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        back = threading.Thread(target=_pump, args=(target, client))
        back.start()
        _pump(client, target)
        back.join()


def forward(front: "Front", client: socket.socket, request: Request) -> None:
    """What a good proxy does."""
    with closing(front.forwarded(request)) as bridge:
        watching = threading.Thread(target=_hang_up_with, args=(client, bridge))
        watching.start()
        _pump(bridge, client, front)
        watching.join()


def _pump(source: socket.socket, target: socket.socket, front: "Front | None" = None) -> None:
    with suppress(OSError):
        while chunk := source.recv(65536):
            target.sendall(chunk)
            if front:
                front.bytes_sent += len(chunk)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def _hang_up_with(client: socket.socket, bridge: socket.socket) -> None:
    """When the client leaves, so do we."""
    with suppress(OSError, ValueError):  # TLS that has ended already
        client.recv(1)
    with suppress(OSError):
        bridge.shutdown(socket.SHUT_RDWR)


class Front:
    """`url` leads to the bridge on `port`, but for what `next` says about the coming requests."""

    def __init__(self, port: int, prefix: str = "", context: ssl.SSLContext | None = None) -> None:
        self.port = port
        self.prefix = prefix
        self.tunnel_port = 0
        self.requests: list[Request] = []
        self.bytes_sent = 0
        self.next: deque[Behaviour] = deque()
        self.always: Behaviour = forward
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._clients: list[socket.socket] = []
        self.own_port = self._listener.getsockname()[1]

    @property
    def url(self) -> str:
        scheme = "https" if self._context else "http"
        host = "localhost" if self._context else "127.0.0.1"
        return f"{scheme}://{host}:{self.own_port}{self.prefix}"

    def calls(self, method: str, ending: str = "") -> list[Request]:
        """Requests of this kind, by method and the end of their path."""
        return [
            request
            for request in self.requests
            if request.method == method and request.target.partition("?")[0].endswith(ending)
        ]

    def break_all(self) -> None:
        """Cut every connection that is open now."""
        for client in self._clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def fail_for_a_while(self) -> None:
        """Cut every open connection and fail like a restart; returns when a request is forwarded again."""
        before = len(self.requests)
        self.next.extend(OUTAGE)
        self.break_all()
        eventually(lambda: len(self.requests) > before + len(OUTAGE), seconds=3 * PATIENCE_SECONDS)

    def forwarded(self, request: Request) -> socket.socket:
        """The request on its way to the bridge, as if it had come there itself."""
        target = request.target.removeprefix("http://bridge.test").removeprefix(self.prefix)
        head = request.head.split(b"\r\n")
        head[0] = f"{request.method} {target} HTTP/1.1".encode()
        kept = [line for line in head if not line.lower().startswith((b"host:", b"connection:"))]
        kept[1:1] = [f"Host: 127.0.0.1:{self.port}".encode(), b"Connection: close"]
        bridge = socket.create_connection(("127.0.0.1", self.port))
        bridge.sendall(b"\r\n".join(kept) + b"\r\n\r\n" + request.body)
        return bridge

    def __enter__(self) -> "Front":
        accepting = threading.Thread(target=self._accept)
        accepting.start()
        self._threads.append(accepting)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.break_all()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,))
            self._clients.append(client)
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), closing(client):
            if self._context:
                client = self._context.wrap_socket(client, server_side=True)
            with closing(client):
                request = _read(client)
                if request:
                    self.requests.append(request)
                    behaviour = self.next.popleft() if self.next else self.always
                    behaviour(self, client, request)


def _read(client: socket.socket) -> Request | None:
    text = b""
    while b"\r\n\r\n" not in text:
        chunk = client.recv(65536)
        if not chunk:
            return None
        text += chunk
    head, _, body = text.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        chunk = client.recv(65536)
        if not chunk:
            return None
        body += chunk
    return Request(method, target, headers, head, body)
