"""Calls in flight: each in its own thread, cancelled one by one or all together."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Callable

from bridge_client.transport.cancellation import Cancellation, Cancelled


class InFlight:
    """The running calls of this process, by name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[str, tuple[threading.Thread, Cancellation]] = {}
        self._is_ended = False

    @property
    def is_empty(self) -> bool:
        return not self._calls

    def start(self, name: str, call: Callable[[Cancellation], None]) -> bool:
        """Run the call in a thread; False if one of that name runs already, or after `end`."""
        cancellation = Cancellation()

        def run() -> None:
            try:
                with suppress(Cancelled):
                    call(cancellation)
            finally:
                with self._lock:
                    del self._calls[name]

        # A daemon: a connection that hangs must not keep the process alive.
        thread = threading.Thread(target=run, daemon=True)
        with self._lock:
            if self._is_ended or name in self._calls:
                return False
            self._calls[name] = (thread, cancellation)
        thread.start()
        return True

    def cancel(self, name: str) -> None:
        """Cancel this call if it still runs; a wait of it ends on the server as well."""
        with self._lock:
            found = self._calls.get(name)
        if found:
            found[1].cancel()

    def end(self, seconds: float) -> None:
        """Cancel all calls, accept no more, and give them this long to end their waits."""
        deadline = time.monotonic() + seconds
        with self._lock:
            self._is_ended = True
            calls = list(self._calls.values())
        for _, cancellation in calls:
            cancellation.cancel()
        for thread, _ in calls:
            # One that was registered a moment ago may not have started yet.
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))
