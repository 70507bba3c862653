"""A web server that takes the HTTP hooks of a client, for tests that have no bridge."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from tests.agents.scripted_model import Json


@dataclass
class HookServer:
    """Where it listens, and every envelope and header that came."""

    url: str = ""
    envelopes: list[Json] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def hook_server(answer: Callable[[Json], Json]) -> Iterator[HookServer]:
    """Every envelope gets what `answer` makes of it; each call has a thread of its own."""
    seen = HookServer()

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            envelope = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.headers.append(dict(self.headers))
            seen.envelopes.append(envelope)
            body = json.dumps(answer(envelope)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Silent: what matters is kept."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Hook) as server:
        server.daemon_threads = True
        seen.url = f"http://127.0.0.1:{server.server_port}/hook"
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield seen
        finally:
            server.shutdown()
            thread.join()
