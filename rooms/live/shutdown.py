"""Polite stop on any server: open connections are answered before the server handles SIGTERM or SIGINT.

The lifespan shutdown of ASGI comes too late for this: uvicorn sends it when no request is open any more,
and Daphne never does. So the signal is handled first, and then passed on to the server's own handler. Servers
that use `loop.add_signal_handler` get it from the event loop at the same time.
"""

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def stop_before_server(stop: Callable[[], Awaitable[None]]) -> None:
    """Run `stop` in this event loop when the process is told to end, before the server stops."""
    if threading.current_thread() is not threading.main_thread():
        return  # Python calls signal handlers in the main thread only
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        servers_own = signal.getsignal(number)
        if servers_own is not None:
            signal.signal(number, partial(_stop_first, loop, stop, servers_own))


def _stop_first(
    loop: asyncio.AbstractEventLoop,
    stop: Callable[[], Awaitable[None]],
    servers_own: Any,
    number: int,
    frame: FrameType | None,
) -> None:
    """Handle the first signal; a second one goes to the server directly."""
    signal.signal(number, servers_own)
    if loop.is_running():
        loop.call_soon_threadsafe(_start, loop, stop, number)
    else:
        signal.raise_signal(number)


def _start(loop: asyncio.AbstractEventLoop, stop: Callable[[], Awaitable[None]], number: int) -> None:
    task = loop.create_task(_stop_and_pass_on(stop, number))
    _running.add(task)
    task.add_done_callback(_running.discard)


# Held here, because asyncio itself keeps no reference to a running task.
_running: set["asyncio.Task[None]"] = set()


async def _stop_and_pass_on(stop: Callable[[], Awaitable[None]], number: int) -> None:
    try:
        await stop()
    finally:
        signal.raise_signal(number)
