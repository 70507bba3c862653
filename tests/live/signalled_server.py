"""A small server that sends itself a signal; prints a word for each step of its stop.

Its arguments are the kind of its signal handler (`function`, `loop`, `default` or `ignored`) and its loop.
"""

import asyncio
import signal
import sys
from typing import Any

import django
import uvloop

django.setup()

from rooms.live.shutdown import FLUSH_SECONDS, stop_before_server  # noqa: E402 -- only after the setup


async def serve(kind: str) -> None:
    has_stopped, is_told = asyncio.Event(), asyncio.Event()

    def servers_own(*_: Any) -> None:
        print("server", flush=True)
        is_told.set()

    async def stop() -> None:
        print("stop", flush=True)
        await asyncio.sleep(FLUSH_SECONDS)  # long enough for a server that does not wait for us
        print("stopped", flush=True)
        has_stopped.set()

    if kind == "loop":
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, servers_own)
    else:
        handlers = {"default": signal.SIG_DFL, "ignored": signal.SIG_IGN, "function": servers_own}
        signal.signal(signal.SIGTERM, handlers[kind])
    stop_before_server(stop)
    signal.raise_signal(signal.SIGTERM)
    if kind != "ignored":
        await has_stopped.wait()
        await is_told.wait()
    # A second call of the server would come within this time.
    await asyncio.sleep(2 * FLUSH_SECONDS)


if __name__ == "__main__":
    {"asyncio": asyncio, "uvloop": uvloop}[sys.argv[2]].run(serve(sys.argv[1]))  # type: ignore[attr-defined]
