"""Graceful shutdown on any server: open connections are answered before it handles SIGTERM or SIGINT.

The lifespan shutdown of ASGI comes too late for this: uvicorn sends it when no request is open any more,
and Daphne never does. So the signal is handled first, and then passed on to the server's own handler. Servers
that use `loop.add_signal_handler` get it at the same time. Hypercorn tells its workers by an event instead.
"""

import asyncio
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from functools import cache, partial
from types import FrameType
from typing import Any

Stop = Callable[[], Awaitable[None]]

SIGNALS = (signal.SIGTERM, signal.SIGINT)
# Daphne drops what it has not written when it stops; the event loop writes it in its next rounds.
FLUSH_SECONDS = 0.1
# The coroutine of hypercorn.asyncio.run that ends when a worker has to stop.
HYPERCORN_MODULE, HYPERCORN_STOPS = "hypercorn.asyncio.run", "raise_shutdown"

# Held here, because asyncio itself keeps no reference to a running task.
_stopping: set["asyncio.Task[None]"] = set()


def stop_before_server(stop: Stop) -> None:
    """Run `stop` in this event loop when the process is told to end, before the server stops."""
    loop = asyncio.get_running_loop()
    if threading.current_thread() is not threading.main_thread():
        return  # Python calls signal handlers in the main thread only
    for number in SIGNALS:
        server_handler = signal.getsignal(number)
        if server_handler not in (None, signal.SIG_IGN):
            signal.signal(number, partial(_stop_first, loop, stop, server_handler))


def _stop_first(
    loop: asyncio.AbstractEventLoop, stop: Stop, server_handler: Any, number: int, frame: FrameType | None
) -> None:
    """Handle the first signal; a second one goes to the server directly."""
    signal.signal(number, server_handler)
    if not loop.is_running():
        signal.raise_signal(number)
    elif _is_set_by_loop(loop, server_handler):
        loop.call_soon_threadsafe(_run, stop())
    else:
        loop.call_soon_threadsafe(_run, _stop_and_pass_on(stop, number))


def _is_set_by_loop(loop: asyncio.AbstractEventLoop, handler: Any) -> bool:
    """Whether `loop.add_signal_handler` has set this handler.

    The loop passes the signal on by itself then. The server must not get it a second time: a worker of
    granian hangs after the third signal, and Ctrl+C and systemd cause two.
    """
    is_of_asyncio = getattr(handler, "__module__", "") == "asyncio.unix_events"
    is_of_uvloop = getattr(handler, "__self__", None) is loop
    return is_of_asyncio or is_of_uvloop


async def _stop_and_pass_on(stop: Stop, number: int) -> None:
    try:
        await stop()
        await asyncio.sleep(FLUSH_SECONDS)
    finally:
        signal.raise_signal(number)


@cache
def stop_with_hypercorn(stop: Stop) -> None:
    """Run `stop` when hypercorn begins to stop; called by the first request, when its tasks exist."""
    if HYPERCORN_MODULE not in sys.modules:
        return
    for task in asyncio.all_tasks():
        if getattr(task.get_coro(), "__qualname__", "") == HYPERCORN_STOPS:
            task.add_done_callback(lambda _: _run(stop()))


def _run(work: Any) -> None:
    task = asyncio.ensure_future(work)
    _stopping.add(task)
    task.add_done_callback(_stopping.discard)
