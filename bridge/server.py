"""Daphne as the site runs it: one socket, bounded requests, a stop that forgets nobody.

Importing this module installs Twisted's asyncio reactor, so only `serve` does it, and late.
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

# Daphne installs the reactor; Twisted's own modules may only be imported after it.
from daphne.server import Server, twisted_loop  # isort: skip
from daphne.http_protocol import HTTPFactory, WebRequest
from django.conf import settings
from twisted.internet import defer, reactor, tcp
from twisted.logger import globalLogBeginner
from twisted.web.http_headers import Headers

logger = logging.getLogger(__name__)

# After a restart every agent and page comes back at once; the kernel keeps them until we accept.
BACKLOG_CONNECTIONS = 1024
# What may pile up for a reader that is slow or gone; a page that is dropped comes back by replay.
UNREAD_BYTES = 1024 * 1024
# A file waits for its reader instead, who may be on a train: looked after so often, and left after a while.
READER_POLL_SECONDS = 0.05
READER_STANDSTILL_SECONDS = 60.0
# A machine that vanished acknowledges nothing: with probes its connection ends within half a minute.
PROBE_AFTER_SECONDS = 15
PROBE_EVERY_SECONDS = 5
PROBES = 3
# Together under 5 seconds, within the patience of every supervisor: first waits and streams end by
# themselves, then ordinary requests finish, then what was written reaches the network.
STOP_LIVE_SECONDS = 3.0
FINISH_REQUESTS_SECONDS = 1.0
FLUSH_SECONDS = 0.5
FLUSH_POLL_SECONDS = 0.01

NO_HEADERS = Headers()


def start(work: Awaitable[None]) -> None:
    """Do this in the server's loop before the first request; tasks it leaves behind go on then."""
    asyncio.set_event_loop(twisted_loop)
    twisted_loop.run_until_complete(work)


class Inbox:
    """What an application has yet to receive: a queue for one reader, at a fraction of asyncio's size."""

    __slots__ = ("_messages", "_reader")

    def __init__(self) -> None:
        self._messages: list[dict[str, Any]] = []
        self._reader: asyncio.Future[None] | None = None

    def put_nowait(self, message: dict[str, Any]) -> None:
        self._messages.append(message)
        if self._reader and not self._reader.done():
            self._reader.set_result(None)

    async def get(self) -> dict[str, Any]:
        while not self._messages:
            self._reader = twisted_loop.create_future()
            await self._reader
        return self._messages.pop(0)


class EagerTransport(tcp.Server):
    """A connection that sends what it is given at once, as a whole.

    Twisted would wait for the loop's next turn, and register and unregister the socket for it: for a change
    that goes to a thousand pages that is most of the work.
    """

    is_collecting = False
    _host: Any = None

    def getHost(self) -> Any:
        """Our end of it, which every request wants to know: the kernel is asked once."""
        if self._host is None:
            self._host = super().getHost()
        return self._host

    def startWriting(self) -> None:
        if not self.is_collecting:
            super().startWriting()

    def send_collected(self) -> None:
        """Send, and leave to the loop what the network does not take now, or a connection that ends."""
        self.is_collecting = False
        failed = self.doWrite() if self._tempDataLen and self.connected else None
        if failed or self.dataBuffer or self.disconnecting:
            super().startWriting()


class SiteRequest(WebRequest):
    """A request without upgrade or forged root path, with bounds for its body and for its reader."""

    body_bytes = 0
    unread_bytes = 0
    is_file = False
    requestHeaders: Headers
    responseHeaders: Headers

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Leave forms to Django: Twisted would read them too, for nothing, and refuse some without a word."""
        super().__init__(*args, **kwargs, parsePOSTFormSubmission=False)

    def handle_reply(self, message: dict[str, Any]) -> None:
        """Pass a reply on, but not without end to somebody who does not read it: Daphne never waits."""
        if message["type"] == "http.response.start":
            names = [name.lower() for name, _ in message.get("headers", ())]
            self.is_file = b"content-disposition" in names
        elif self.has_to_wait and not self.is_file:
            self.unread_bytes += len(message.get("body", b""))
        else:
            self.unread_bytes = 0
        if self.unread_bytes > UNREAD_BYTES:
            self.transport.abortConnection()
            return
        transport = self.transport
        transport.is_collecting = True
        try:
            super().handle_reply(message)
        finally:
            transport.send_collected()
        if message.get("more_body"):
            self.responseHeaders = NO_HEADERS  # sent; a stream lives long and need not keep them

    @property
    def has_to_wait(self) -> bool:
        """Whether the network takes no more of it for now."""
        return self.channel is not None and bool(self.channel._waitingForTransport)

    async def wait_for_reader(self) -> None:
        """Until there is room for the next part of a file; whoever stands still for long is left."""
        deadline = twisted_loop.time() + READER_STANDSTILL_SECONDS
        while self.has_to_wait:
            if twisted_loop.time() > deadline:
                self.transport.abortConnection()
                return
            await asyncio.sleep(READER_POLL_SECONDS)

    def handleContentChunk(self, data: bytes) -> None:
        """Keep a body only up to the limit: Daphne would take any size into memory."""
        self.body_bytes += len(data)
        if self.body_bytes <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            super().handleContentChunk(data)

    def process(self) -> Any:
        """Hand the request on; of too large a one only its length, so that it is refused."""
        self.requestHeaders.removeHeader(b"upgrade")  # the site speaks no WebSocket
        self.requestHeaders.removeHeader(b"daphne-root-path")  # a client could bend redirects
        if self.body_bytes > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            self.content.truncate(0)
            self.requestHeaders.setRawHeaders(b"content-length", [b"%d" % self.body_bytes])
        processed = super().process()
        self.requestHeaders = NO_HEADERS  # the application has its own; a wait need not keep both
        return processed


class SiteFactory(HTTPFactory):
    """Makes each connection speak in our requests."""

    def buildProtocol(self, addr: Any) -> Any:
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = SiteRequest
        reactor.callLater(0, _notice_if_it_vanishes, protocol)
        return protocol

    def log(self, request: Any) -> None:
        """Nobody reads Twisted's own access log, which is a good part of a request's work."""


def _notice_if_it_vanishes(protocol: Any) -> None:
    connection = protocol.transport and protocol.transport.getHandle()
    if not connection or not hasattr(socket, "TCP_USER_TIMEOUT"):
        return  # already gone; or not Linux, where the agent's lease runs out a little later
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, PROBE_AFTER_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, PROBE_EVERY_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, PROBES)
    timeout = PROBE_AFTER_SECONDS + PROBES * PROBE_EVERY_SECONDS
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, timeout * 1000)


class SiteServer(Server):
    """Serves an ASGI application on a bound socket until SIGINT or SIGTERM."""

    def __init__(self, application: Any, stop_live: Callable[[], Awaitable[None]]) -> None:
        super().__init__(
            application,
            endpoints=["unused: the socket comes already bound"],
            server_name="",  # nobody needs to know what serves them
            # One message per body: none is longer than this.
            request_buffer_size=settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1,
        )
        self.stop_live = stop_live
        self.connections: dict[Any, dict[str, Any]] = {}

    def listen(self, bound: socket.socket) -> None:
        """From here on connections are accepted; `run` answers them."""
        bound.listen(BACKLOG_CONNECTIONS)
        bound.setblocking(False)
        self.port = reactor.adoptStreamPort(bound.fileno(), bound.family, SiteFactory(self))
        self.port.transport = EagerTransport
        bound.close()  # the reactor has its own handle

    def create_application(self, protocol: WebRequest, scope: dict[str, Any]) -> Inbox:
        """Start the application for one request; what comes for it goes into the inbox."""
        inbox = Inbox()
        send = partial(self.handle_reply, protocol)
        running = asyncio.ensure_future(self.application(scope, inbox.get, send), loop=twisted_loop)
        self.connections[protocol]["application_instance"] = running
        return inbox

    async def handle_reply(self, protocol: SiteRequest, message: dict[str, Any]) -> None:
        """Daphne takes any amount at once; of a file it has to be asked for as much as is read."""
        await super().handle_reply(protocol, message)
        if protocol.is_file and message.get("more_body"):
            await protocol.wait_for_reader()

    def run(self, when_running: Callable[[], None]) -> None:
        """Serve until a signal comes, then leave politely; say when signals are heeded."""
        asyncio.set_event_loop(twisted_loop)
        globalLogBeginner.beginLoggingTo([lambda _: None], redirectStandardIO=False, discardBuffer=True)
        reactor.callLater(1, self.application_checker)
        reactor.addSystemEventTrigger("before", "shutdown", self._start_leaving)
        reactor.callWhenRunning(when_running)
        reactor.run()

    def _start_leaving(self) -> defer.Deferred[None]:
        return defer.Deferred.fromFuture(asyncio.ensure_future(self._leave()))

    async def _leave(self) -> None:
        self.port.stopListening()
        try:
            await asyncio.wait_for(self.stop_live(), STOP_LIVE_SECONDS)
        except Exception:  # the process ends either way; the rest still deserves its turn
            logger.exception("Waits and streams did not end by themselves")
        if running := self._running_applications():
            await asyncio.wait(running, timeout=FINISH_REQUESTS_SECONDS)
        for application in self._running_applications():
            application.cancel()
        await self._flush()

    def _running_applications(self) -> list[asyncio.Future[None]]:
        instances = (state.get("application_instance") for state in self.connections.values())
        return [instance for instance in instances if instance and not instance.done()]

    async def _flush(self) -> None:
        """Close every connection once its last bytes are out, or when its reader is too slow."""
        for connection in _open_connections():
            connection.loseConnection()
        deadline = twisted_loop.time() + FLUSH_SECONDS
        while _open_connections() and twisted_loop.time() < deadline:
            await asyncio.sleep(FLUSH_POLL_SECONDS)


def _open_connections() -> set[tcp.Server]:
    known = (*reactor.getReaders(), *reactor.getWriters())
    return {descriptor for descriptor in known if isinstance(descriptor, tcp.Server)}
