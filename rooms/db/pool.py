"""A few lasting threads for a loop, of which the one that rested last works first.

Each thread keeps a database connection, and with it what was read, prepared and cached. Python's own pool
wakes the thread that rested longest: everything that it knows is stale by then, and SQLite reads it anew. And
it tells its outcome to a future for threads first, which no loop needs.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, ParamSpec, TypeVar

from django.conf import settings
from django.db import close_old_connections
from django.urls import set_script_prefix
from django.utils.translation import override

from rooms.conf import setting

Params = ParamSpec("Params")
Result = TypeVar("Result")

# What the API says. These threads work for it, too: whatever is for people names its own language.
WIRE_LANGUAGE = "en"

# What tells the outcome of a job to whoever waits for it.
Tell = Callable[[], None]

# Longer than most of what they do, and shorter than anybody notices.
MOMENT_SECONDS = 0.002


class Job:
    """Something that a thread does and a loop waits for."""

    __slots__ = ("_do", "_loop", "outcome")

    def __init__(self, loop: asyncio.AbstractEventLoop, do: Callable[[], Any]) -> None:
        self._loop, self._do = loop, do
        self.outcome: asyncio.Future[Any] = loop.create_future()

    def do(self) -> Tell:
        """Do it; its outcome is not told yet."""
        if self.outcome.cancelled():
            return lambda: None
        try:
            return partial(self._tell, self.outcome.set_result, self._do())
        except BaseException as error:
            return partial(self._tell, self.outcome.set_exception, error)

    def _tell(self, settle: Callable[[Any], None], told: Any) -> None:
        with suppress(RuntimeError):  # a loop that was closed meanwhile has nobody who waits
            self._loop.call_soon_threadsafe(self._settle, settle, told)

    def _settle(self, settle: Callable[[Any], None], told: Any) -> None:
        if not self.outcome.done():
            settle(told)


class Threads:
    """At most `count` of them, and only one for as long as it keeps up: they would wait for each other.

    What comes while it works waits in a row, and the loop hears of all that was done when the row is empty:
    to wake it for each was a tenth of the work. If that takes longer than a moment, the loop looks for
    itself, and another thread begins if nothing of the row was begun meanwhile.
    """

    def __init__(self, count: int, name: str, prepare: Callable[[], object] = lambda: None) -> None:
        self._count, self._name, self._prepare = count, name, prepare
        self._lock = Lock()
        self._started = 0
        self._resting: list[SimpleQueue[Job]] = []
        self._row: deque[Job] = deque()
        self._begun = 0
        self._untold: list[Tell] = []
        self._watching: asyncio.AbstractEventLoop | None = None

    async def run(
        self, function: Callable[Params, Result], /, *args: Params.args, **kwargs: Params.kwargs
    ) -> Result:
        """What the function returns or raises; nobody begins with it for a caller that is gone."""
        loop = asyncio.get_running_loop()
        job = Job(loop, partial(function, *args, **kwargs))
        with self._lock:
            self._row.append(job)
            if len(self._resting) == self._started:
                self._begin()
            elif self._watching is None or not self._watching.is_running():
                self._watching = loop
                loop.call_later(MOMENT_SECONDS, self._watch, self._begun)
        result: Result = await job.outcome
        return result

    def _watch(self, begun: int) -> None:
        """Look after the row, for as long as there is one."""
        with self._lock:
            if self._row and self._begun == begun and (self._resting or self._started < self._count):
                self._begin()
            if self._row and self._watching:
                self._watching.call_later(MOMENT_SECONDS, self._watch, self._begun)
            else:
                self._watching = None
            untold, self._untold = self._untold, []
        for tell in untold:
            tell()

    def _begin(self) -> None:
        """Give the next in the row to a thread that has nothing to do."""
        if self._resting:
            inbox = self._resting.pop()
        else:
            inbox = SimpleQueue()
            self._started += 1
            name = f"{self._name}-{self._started}"
            # The process ends without waiting for them: whatever they write is whole, or not there.
            Thread(target=self._work, args=(inbox,), name=name, daemon=True).start()
        self._take_next(inbox)

    def _take_next(self, inbox: "SimpleQueue[Job]") -> None:
        self._begun += 1
        inbox.put(self._row.popleft())

    def _work(self, inbox: "SimpleQueue[Job]") -> None:
        self._prepare()
        while True:
            tell = inbox.get().do()
            untold: list[Tell] = []
            # Before anybody is told: whoever asks for one thing after the other has it done by one thread.
            with self._lock:
                self._untold.append(tell)
                if self._row:
                    self._take_next(inbox)
                else:
                    self._resting.append(inbox)
                    untold, self._untold = self._untold, []
            for tell in untold:
                tell()
            del tell, untold  # a thread that rests keeps nothing alive


@cache
def _threads() -> Threads:
    # Known to each thread by itself: the addresses in a card begin with it.
    prefix = settings.FORCE_SCRIPT_NAME or "/"
    return Threads(setting("DATABASE_THREADS"), "ask-bridge-database", partial(set_script_prefix, prefix))


async def in_database(
    function: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
) -> Result:
    """Run a function that queries the database, without blocking the loop."""
    return await _threads().run(partial(_with_fresh_connections, function, *args, **kwargs))


def _with_fresh_connections(
    function: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
) -> Result:
    # As Django does around every request: connections that died or grew too old are replaced, and
    # pooled ones go back.
    close_old_connections()
    try:
        with override(WIRE_LANGUAGE):
            return function(*args, **kwargs)
    finally:
        close_old_connections()
