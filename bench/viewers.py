"""Thousands of open pages in one thread: raw sockets and one epoll, so that reading costs little."""

import asyncio
import select
import socket
from collections.abc import Iterator, Sequence
from time import perf_counter

from bench.connections import HOST, PATIENCE_SECONDS, Failed

# Well below every listen backlog: this measures open connections, not connecting.
OPENING_AT_ONCE = 40
CHUNK_BYTES = 64 * 1024
POLLED_AT_ONCE = 4096

Request = tuple[int, bytes]  # port, and what to say there


class Viewers:
    """All viewers; says when the last of them has got an event."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._epoll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        self._buffer = bytearray(CHUNK_BYTES)
        # What each has read of a marker that came in two pieces.
        self._tails: dict[int, bytes] = {}
        self._marker = b""
        self._unseen: set[int] = set()
        self._seen_at: asyncio.Future[float] | None = None
        self.dropped = 0
        self._loop.add_reader(self._epoll.fileno(), self._read)

    def __len__(self) -> int:
        return len(self._sockets)

    async def grow(self, requests: Sequence[Request], welcome: bytes, at_once: int = 0) -> float:
        """One more for each (port, request), a few at a time; when the last of them was let in."""
        seen_at = 0.0
        for some in _batches(requests, at_once or OPENING_AT_ONCE):
            sockets = [self._make() for _ in some]
            expected = self._expect(welcome, {each.fileno() for each in sockets})
            await asyncio.gather(*(self._enter(each, *one) for each, one in zip(sockets, some, strict=True)))
            seen_at = await self.seen(expected)
        return seen_at

    def expect(self, marker: bytes) -> "asyncio.Future[float]":
        """When the last viewer has read this; to be called before it can arrive."""
        return self._expect(marker, set(self._sockets))

    async def seen(self, seen_at: "asyncio.Future[float]") -> float:
        """The time, or a failure that says how many have not."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await seen_at
        except TimeoutError:
            raise Failed(f"{len(self._unseen)} of {len(self)} pages never saw {self._marker!r}") from None

    def close(self) -> None:
        """Close all at once."""
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()
        for each in self._sockets.values():
            each.close()
        self._sockets.clear()

    def _make(self) -> socket.socket:
        made = socket.socket()
        made.setblocking(False)
        self._sockets[made.fileno()] = made
        return made

    async def _enter(self, sock: socket.socket, port: int, request: bytes) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._loop.sock_connect(sock, (HOST, port))
        sock.send(request)
        self._epoll.register(sock.fileno(), select.EPOLLIN)

    def _expect(self, marker: bytes, numbers: set[int]) -> "asyncio.Future[float]":
        self._marker, self._unseen = marker, numbers
        self._tails.clear()
        self._seen_at = self._loop.create_future()
        return self._seen_at

    def _read(self) -> None:
        marker, unseen, buffer, tails = self._marker, self._unseen, self._buffer, self._tails
        for number, _ in self._epoll.poll(0, POLLED_AT_ONCE):
            try:
                size = self._sockets[number].recv_into(buffer)
            except BlockingIOError:
                continue
            except ConnectionError:
                size = 0
            if not size:
                self._drop(number)
            elif number in unseen:
                if buffer.find(marker, 0, size) < 0:
                    read = tails.get(number, b"") + buffer[:size]
                    if marker not in read:
                        tails[number] = read[-len(marker) :]
                        continue
                unseen.discard(number)
        if not unseen and self._seen_at and not self._seen_at.done():
            self._seen_at.set_result(perf_counter())

    def _drop(self, number: int) -> None:
        self._epoll.unregister(number)
        self._sockets.pop(number).close()
        self.dropped += 1


def _batches(requests: Sequence[Request], size: int) -> Iterator[Sequence[Request]]:
    for start in range(0, len(requests), size):
        yield requests[start : start + size]
