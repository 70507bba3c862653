"""Who sleeps in the hub wakes for news, for the clock, and for nothing else."""

import asyncio
from collections.abc import Awaitable, Callable

from rooms.frames import Frame
from rooms.sleepers import Sleeper, Viewer

NEWS = Frame("ops", 7, "card-q_1", lambda is_mine: "<article>")


def a_viewer() -> Viewer:
    return Viewer(1, None, {1}, "en", many_rooms=False)


def run(scene: Callable[[], Awaitable[None]]) -> None:
    async def in_time() -> None:
        async with asyncio.timeout(5):
            await scene()

    asyncio.run(in_time())


def test_a_sleep_ends_with_news_or_with_its_time() -> None:
    async def scene() -> None:
        sleeper = Sleeper()
        assert await sleeper.sleep(0.01) is False
        asyncio.get_running_loop().call_later(0.01, sleeper.wake)
        assert await sleeper.sleep(60) is True

    run(scene)


def test_news_that_came_before_the_sleep_end_it_at_once() -> None:
    async def scene() -> None:
        viewer = a_viewer()
        viewer.push([NEWS])
        assert await viewer.sleep() is True
        assert viewer.take() == b"event: card-q_1\nid: 7\ndata: <article>\n\n"

    run(scene)


def test_the_clock_of_a_stream_rings_again_and_again_whatever_comes_in_between() -> None:
    async def scene() -> None:
        viewer = a_viewer()
        viewer.start_clock(0.02)
        assert await viewer.sleep() is False
        viewer.push([NEWS])
        assert await viewer.sleep() is True
        assert await viewer.sleep() is False
        assert await viewer.sleep() is False
        viewer.stop_clock()
        sleeping = asyncio.create_task(viewer.sleep())
        await asyncio.sleep(0.1)
        assert not sleeping.done()
        sleeping.cancel()

    run(scene)
