"""Cancellation: ends a blocking call from another thread."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Cancelled(Exception):
    """The call was ended by its `Cancellation`; a wait was ended on the server as well."""


class Cancellation:
    """Passed to a call, it ends the call at once from any thread, by shutting down its socket."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """End the call; a second time does nothing."""
        with self._lock:
            self._cancelled.set()
            if self._socket is not None:
                with suppress(OSError):
                    # Not the method of a TLS socket, which drops the TLS state while another thread reads.
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def check(self) -> None:
        """Raise Cancelled if the call was cancelled."""
        if self.is_cancelled:
            raise Cancelled

    def sleep(self, seconds: float) -> None:
        """Sleep; a cancellation ends it with Cancelled."""
        self._cancelled.wait(seconds)
        self.check()

    @contextmanager
    def closes(self, connected: socket.socket) -> Iterator[None]:
        """While the block runs, a cancellation shuts down this socket."""
        with self._lock:
            self._socket = connected
        try:
            self.check()
            yield
        finally:
            with self._lock:
                self._socket = None
