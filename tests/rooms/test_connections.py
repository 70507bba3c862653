"""Connections in the hub wake for a change or for their deadline, and for nothing else."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from unittest.mock import AsyncMock

from rooms.live.connections import Connection, Viewer
from rooms.live.events import Frame
from rooms.live.exchange import Exchange

CHANGE = Frame("ops", 7, "card-q_1", lambda is_mine: "<article>")


def a_viewer() -> Viewer:
    return Viewer(1, None, {1}, "en", many_rooms=False)


def run(scene: Callable[[], Awaitable[None]]) -> None:
    async def in_time() -> None:
        async with asyncio.timeout(5):
            await scene()

    asyncio.run(in_time())


def test_a_wait_ends_with_a_change_or_at_its_deadline() -> None:
    async def scene() -> None:
        sleeper = Connection()
        assert await sleeper.sleep(0.01) is False
        asyncio.get_running_loop().call_later(0.01, sleeper.wake)
        assert await sleeper.sleep(60) is True

    run(scene)


def test_a_change_before_the_wait_ends_it_at_once() -> None:
    async def scene() -> None:
        viewer = a_viewer()
        viewer.push([CHANGE])
        assert await viewer.sleep() is True
        assert viewer.take() == b"event: card-q_1\nid: 7\ndata: <article>\n\n"

    run(scene)


def test_the_timer_of_a_stream_repeats_whatever_comes_in_between() -> None:
    async def scene() -> None:
        viewer = a_viewer()
        viewer.start_timer(0.02)
        assert await viewer.sleep() is False
        viewer.push([CHANGE])
        assert await viewer.sleep() is True
        assert await viewer.sleep() is False
        assert await viewer.sleep() is False
        viewer.stop_timer()
        sleeping = asyncio.create_task(viewer.sleep())
        await asyncio.sleep(0.1)
        assert not sleeping.done()
        sleeping.cancel()

    run(scene)


class Page:
    """A client of ours, and the server in between: what it was sent, and whether it reads."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.reads = asyncio.Event()
        self.reads.set()

    async def send(self, message: dict[str, Any]) -> None:
        if not self.reads.is_set():
            await self.reads.wait()
        self.sent.append(message["body"])

    def exchange(self) -> Exchange:
        return Exchange({}, AsyncMock(), self.send, AsyncMock())


async def _asleep(viewer: Viewer) -> "asyncio.Task[bool]":
    sleeping = asyncio.create_task(viewer.sleep())
    await asyncio.sleep(0)
    return sleeping


def test_changes_for_an_idle_stream_are_sent_without_waking_it() -> None:
    async def scene() -> None:
        page, viewer = Page(), a_viewer()
        viewer.write = page.exchange().write_now
        sleeping = await _asleep(viewer)
        viewer.push([CHANGE], b"change")
        assert page.sent == [b"change"]
        await asyncio.sleep(0)
        assert not sleeping.done()
        viewer.wake()
        assert await sleeping
        assert viewer.take() == b""

    run(scene)


def test_changes_for_a_busy_stream_wait_for_it() -> None:
    async def scene() -> None:
        page, viewer = Page(), a_viewer()
        viewer.write = page.exchange().write_now
        viewer.push([CHANGE], b"change")
        sleeping = await _asleep(viewer)
        viewer.push([CHANGE], b"change")
        assert await sleeping
        assert page.sent == []
        assert viewer.take().count(b"data: <article>") == 2

    run(scene)


def test_a_client_that_does_not_read_is_left_to_its_stream_and_nothing_is_lost() -> None:
    async def scene() -> None:
        page, viewer = Page(), a_viewer()
        exchange = page.exchange()
        viewer.write = exchange.write_now
        page.reads.clear()
        sleeping = await _asleep(viewer)
        viewer.push([CHANGE], b"change")
        assert await sleeping
        page.reads.set()
        assert page.sent == []
        await exchange.write(viewer.take())
        # From now on in this order only: past a task that waits nothing is sent.
        sleeping = await _asleep(viewer)
        viewer.push([CHANGE], b"change")
        assert await sleeping
        assert len(page.sent) == 1

    run(scene)


def test_a_server_that_fails_does_so_to_the_stream_itself() -> None:
    async def scene() -> None:
        viewer = a_viewer()
        gone = AsyncMock(side_effect=OSError)
        viewer.write = Exchange({}, AsyncMock(), gone, AsyncMock()).write_now
        sleeping = await _asleep(viewer)
        viewer.push([CHANGE], b"change")
        assert await sleeping
        assert viewer.take()

    run(scene)
