"""The LIFO thread pool: as few threads as keep up, the most recently used first, and no job is lost."""

import asyncio
from collections.abc import Callable, Iterator
from functools import wraps
from threading import Event, current_thread
from typing import Any

import pytest

from rooms.db.pool import ThreadPool

PATIENCE_SECONDS = 10


class Task:
    """Something that takes until it is let go, and tells who does it."""

    def __init__(self) -> None:
        self.begun, self.may_end = Event(), Event()

    def __call__(self) -> str:
        self.begun.set()
        assert self.may_end.wait(PATIENCE_SECONDS)
        return current_thread().name


Begin = Callable[[ThreadPool], tuple[Task, "asyncio.Task[str]"]]


@pytest.fixture
def begin() -> Iterator[Begin]:
    """Give the threads a task that takes until it is let go."""
    tasks: list[Task] = []

    def begun(threads: ThreadPool) -> tuple[Task, "asyncio.Task[str]"]:
        tasks.append(Task())
        return tasks[-1], asyncio.create_task(threads.run(tasks[-1]))

    yield begun
    for task in tasks:
        task.may_end.set()


def in_a_loop(test: Callable[..., Any]) -> Callable[..., None]:
    """Run the test in a loop of its own, which nothing may keep from its end."""

    @wraps(test)
    def in_time(*args: Any, **kwargs: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), PATIENCE_SECONDS))

    return in_time


async def name_of_next(threads: ThreadPool) -> str:
    return await threads.run(lambda: current_thread().name)


async def all_begun(busy: "list[tuple[Task, asyncio.Task[str]]]") -> None:
    for task, _ in busy:
        await asyncio.to_thread(task.begun.wait)


@in_a_loop
async def test_one_after_the_other_is_one_thread() -> None:
    threads = ThreadPool(3, "test")
    assert {await name_of_next(threads) for _ in range(200)} == {"test-1"}


@in_a_loop
async def test_many_at_once_are_one_thread_as_long_as_it_keeps_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rooms.db.pool.CHECK_SECONDS", PATIENCE_SECONDS)  # also on a busy machine
    threads = ThreadPool(3, "test")
    for _ in range(20):
        assert set(await asyncio.gather(*(name_of_next(threads) for _ in range(10)))) == {"test-1"}


@in_a_loop
async def test_no_job_waits_for_a_long_one(begin: Begin) -> None:
    threads = ThreadPool(2, "test")
    task, outcome = begin(threads)
    await asyncio.to_thread(task.begun.wait)
    assert await name_of_next(threads) == "test-2"
    assert not outcome.done()


@in_a_loop
async def test_what_is_done_is_told_while_the_next_one_takes_long(begin: Begin) -> None:
    threads = ThreadPool(1, "test")
    first, first_outcome = begin(threads)
    second, second_outcome = begin(threads)
    await asyncio.to_thread(first.begun.wait)
    first.may_end.set()
    assert await first_outcome == "test-1"
    assert not second_outcome.done()
    second.may_end.set()
    assert await second_outcome == "test-1"


def test_a_loop_that_ended_leaves_no_row_behind(begin: Begin) -> None:
    threads = ThreadPool(2, "test")

    async def leave_a_row() -> None:
        task, _ = begin(threads)
        waiting = asyncio.create_task(name_of_next(threads))
        await asyncio.to_thread(task.begun.wait)
        waiting.cancel()

    asyncio.run(leave_a_row())
    assert asyncio.run(asyncio.wait_for(name_of_next(threads), PATIENCE_SECONDS)) == "test-2"


@in_a_loop
async def test_who_rested_last_works_first(begin: Begin) -> None:
    threads = ThreadPool(3, "test")
    names = []
    busy = [begin(threads) for _ in range(3)]
    await all_begun(busy)
    for task, outcome in busy:
        task.may_end.set()
        names.append(await outcome)
    assert sorted(names) == ["test-1", "test-2", "test-3"]
    assert await name_of_next(threads) == names[-1]


@in_a_loop
async def test_what_comes_while_all_are_busy_waits_in_a_row(begin: Begin) -> None:
    threads = ThreadPool(2, "test")
    busy = [begin(threads) for _ in range(2)]
    done: list[int] = []
    waiting = [asyncio.create_task(threads.run(done.append, number)) for number in range(5)]
    await all_begun(busy)
    assert not done
    busy[0][0].may_end.set()
    await asyncio.gather(*waiting)
    assert done == [0, 1, 2, 3, 4]


@in_a_loop
async def test_a_failure_reaches_its_caller_and_the_thread_goes_on() -> None:
    threads = ThreadPool(1, "test")
    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 // 0)
    assert await name_of_next(threads) == "test-1"


@in_a_loop
async def test_a_cancelled_job_is_not_begun(begin: Begin) -> None:
    threads = ThreadPool(1, "test")
    task, _ = begin(threads)
    done: list[str] = []
    left, kept = (asyncio.create_task(threads.run(done.append, name)) for name in ("left", "kept"))
    await asyncio.to_thread(task.begun.wait)
    left.cancel()
    await asyncio.sleep(0)  # so that it knows
    task.may_end.set()
    await kept
    assert done == ["kept"]


def test_a_loop_that_ended_meanwhile_breaks_no_thread(begin: Begin) -> None:
    threads = ThreadPool(1, "test")

    async def leave_too_early() -> Task:
        task, outcome = begin(threads)
        await asyncio.to_thread(task.begun.wait)
        outcome.cancel()
        return task

    asyncio.run(leave_too_early()).may_end.set()
    assert asyncio.run(name_of_next(threads)) == "test-1"


@in_a_loop
async def test_every_thread_is_prepared_once(begin: Begin) -> None:
    prepared: list[str] = []
    threads = ThreadPool(2, "test", lambda: prepared.append(current_thread().name))
    busy = [begin(threads) for _ in range(2)]
    await all_begun(busy)
    for task, outcome in busy:
        task.may_end.set()
        await outcome
    await name_of_next(threads)
    assert sorted(prepared) == ["test-1", "test-2"]
