"""Replies leave at once: what Twisted has to do for it is tested without a running event loop."""

import subprocess
import sys

from tests.harness.sites import ROOT, START_SECONDS

# In a process of its own: the module installs Twisted's reactor.
SCRIPT = """
import socket
from bridge.server import EagerTransport, reactor
from twisted.internet.protocol import Factory, Protocol

accepted = []

class Kept(Protocol):
    def connectionMade(self):
        accepted.append(self.transport)

listening = socket.create_server(("127.0.0.1", 0))
listening.setblocking(False)
port = reactor.adoptStreamPort(listening.fileno(), listening.family, Factory.forProtocol(Kept))
port.transport = EagerTransport
client = socket.create_connection(listening.getsockname())
client.settimeout(20)
port.doRead()  # as the event loop does
(transport,) = accepted
assert isinstance(transport, EagerTransport)

def send(*parts):
    transport.is_collecting = True
    for part in parts:
        transport.write(part)
    transport.send_collected()

send(b"Hello, ", b"world")
assert client.recv(100) == b"Hello, world", "sent in one piece, without the event loop"
assert not transport.is_waiting
assert transport not in reactor.getWriters()

for _ in range(1000):
    send(b"x" * 65536)
assert transport.is_waiting, "the client reads nothing"
assert transport in reactor.getWriters(), "the event loop sends the rest"

while transport.is_waiting:
    client.recv(1 << 20)
    transport.doWrite()  # as the event loop does
assert transport not in reactor.getWriters()
"""


def test_a_reply_is_sent_at_once_and_the_event_loop_sends_only_what_the_socket_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, timeout=START_SECONDS
    )
    assert (done.returncode, done.stderr) == (0, "")
