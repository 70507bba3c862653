"""TCP proxy between a browser and the site that cuts, refuses or freezes connections."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Thread

REFUSAL = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Proxy:
    """Forwards all connections by default."""

    def __init__(self, site_port: int) -> None:
        self.site_port = site_port
        self.requests: list[str] = []
        self._state = "passing"
        self._lock = Lock()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._sockets: list[socket.socket] = []
        self._is_closed = False
        self._server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._server.getsockname()[1]
        self._thread = Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cut(self) -> None:
        """Close all connections; new ones pass."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def refuse(self) -> None:
        """Answer each request with 503, as a proxy does whose site is down."""
        self._state = "refusing"
        self.cut()

    def freeze(self) -> None:
        """As after a pulled cable: nothing passes, no connection is closed, and the open ones stay dead."""
        with self._lock:
            self._state, self._pairs = "frozen", []

    def heal(self) -> None:
        """Let new connections pass."""
        self._state = "passing"

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
        for end in (self._server, *self._sockets):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                self._keep(client)
                Thread(target=self._serve, args=(client,), daemon=True).start()

    def _keep(self, end: socket.socket) -> None:
        """Remember a socket for `close`; one that comes after it is closed here."""
        with self._lock:
            if not self._is_closed:
                self._sockets.append(end)
                return
        end.close()
        raise OSError("the proxy is closed")

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError):
            if self._state == "refusing":
                self._turn_away(client)
            elif self._state == "passing":
                self._pass_on(client)

    def _turn_away(self, client: socket.socket) -> None:
        client.recv(65536)
        client.sendall(REFUSAL)
        client.shutdown(socket.SHUT_WR)

    def _pass_on(self, client: socket.socket) -> None:
        try:
            pair = (client, socket.create_connection(("127.0.0.1", self.site_port)))
        except ConnectionRefusedError:
            self._turn_away(client)
            return
        self._keep(pair[1])
        with self._lock:
            if self._state == "passing":
                self._pairs.append(pair)
        Thread(target=self._pump, args=(*pair, pair), daemon=True).start()
        self._pump(pair[1], pair[0], pair)

    def _pump(self, source: socket.socket, target: socket.socket, pair: tuple[socket.socket, ...]) -> None:
        with suppress(OSError):
            while chunk := source.recv(65536):
                if pair not in self._pairs:
                    continue  # frozen: swallowed
                if source is pair[0]:
                    self.requests.append(chunk.partition(b"\r\n")[0].decode("ascii", "replace"))
                target.sendall(chunk)
            if pair in self._pairs:
                target.shutdown(socket.SHUT_WR)


@contextmanager
def proxy_to(site_port: int) -> Iterator[Proxy]:
    proxy = Proxy(site_port)
    try:
        yield proxy
    finally:
        proxy.close()
