"""Hundreds of open pages and waiting agents: a socket each, all in one thread."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

# Well below the listen backlog of the site: the test is about open connections, not about connecting.
OPENING_AT_ONCE = 40
OPEN_SECONDS = 180
LEAVE_SECONDS = 30
POLL_SECONDS = 50

Client = Callable[["asyncio.Future[None]"], Coroutine[Any, Any, None]]


class ManyConnections:
    """Open connections, the number of their events, and their last replies."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.events = 0
        self.streams_ended = 0
        # The last reply to each wait: its status and Retry-After; 0 for a connection that just broke.
        self.last_replies: Counter[tuple[int, str]] = Counter()
        self._loop = asyncio.new_event_loop()
        self._turns = asyncio.Semaphore(OPENING_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()

    # ---- from the test's thread

    def open_streams(self, cookies: list[str], count: int) -> None:
        """Returns when every page has been welcomed."""

        def page(cookie: str) -> Client:
            return lambda opened: self._watch(cookie, opened)

        self._run(self._open([page(cookies[number % len(cookies)]) for number in range(count)]), OPEN_SECONDS)

    def open_waits(self, waits: list[tuple[str, str]]) -> None:
        """Returns when every wait, by key and question, has been sent."""

        def agent(key: str, question_id: str) -> Client:
            return lambda opened: self._wait(key, question_id, opened)

        self._run(self._open([agent(*wait) for wait in waits]), OPEN_SECONDS)

    def leave(self) -> None:
        """Close all connections at once."""
        self._run(self._leave(), LEAVE_SECONDS)

    def is_empty(self) -> bool:
        return not self._tasks

    def _run(self, work: Coroutine[Any, Any, None], seconds: float) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(seconds)

    # ---- in the thread of the connections

    def run(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    def stop(self) -> None:
        self.leave()
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _open(self, clients: list[Client]) -> None:
        begun = []
        for client in clients:
            opened: asyncio.Future[None] = self._loop.create_future()
            task = self._loop.create_task(client(opened))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            begun.append(opened)
        await asyncio.gather(*begun)

    async def _leave(self) -> None:
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self, cookie: str, opened: "asyncio.Future[None]") -> None:
        async with self._turns:
            reader, writer = await self._send("/stream", f"Cookie: sessionid={cookie}", opened)
            try:
                await reader.readuntil(b": welcome")
            except asyncio.IncompleteReadError as error:
                opened.set_exception(AssertionError(error.partial.decode()))
                return
        opened.set_result(None)
        tail = b""
        try:
            while chunk := await reader.read(65536):
                self.events += chunk.count(b"event: ")
                tail = (tail + chunk)[-5:]
            self.streams_ended += tail == b"0\r\n\r\n"
        except ConnectionError:
            pass  # cut off in the middle: not counted as ended
        finally:
            writer.close()

    async def _wait(self, key: str, question_id: str, opened: "asyncio.Future[None]") -> None:
        path, header = f"/api/v1/questions/{question_id}?wait={POLL_SECONDS}", f"Authorization: Bearer {key}"
        async with self._turns:
            reader, writer = await self._send(path, header, opened)
        opened.set_result(None)
        try:
            while (reply := await _read_reply(reader)) == (200, ""):
                writer.write(_request(path, header))
            self.last_replies[reply] += 1
        except (ConnectionError, asyncio.IncompleteReadError):
            self.last_replies[0, ""] += 1
        finally:
            writer.close()

    async def _send(
        self, path: str, header: str, opened: "asyncio.Future[None]"
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError as error:
            opened.set_exception(error)
            raise
        writer.write(_request(path, header))
        return reader, writer


def _request(path: str, header: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n".encode()


async def _read_reply(reader: asyncio.StreamReader) -> tuple[int, str]:
    """(200, "") for a question that is still open, (200, its status) for one that is not."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    status, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    body = json.loads(await reader.readexactly(int(headers["content-length"])))
    code = int(status.split()[1])
    if code == 200:
        return code, "" if body["status"] == "open" else body["status"]
    return code, headers.get("retry-after", "")


@contextmanager
def connections_to(port: int) -> Iterator[ManyConnections]:
    connections = ManyConnections(port)
    thread = Thread(target=connections.run, daemon=True)
    thread.start()
    try:
        yield connections
    finally:
        connections.stop()
        thread.join()
