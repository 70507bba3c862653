"""Ending a call from another thread."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Cancelled(Exception):
    """The call was ended by its `Cancellation`; the server has been told where it had to be."""


class Cancellation:
    """Ends the call that it was given to, from any thread and at once: its connection is hung up."""

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
                    # Not the method of a TLS socket, which pulls the rug from under its reader.
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def check(self) -> None:
        """Raise Cancelled if that is what happened."""
        if self.is_cancelled:
            raise Cancelled

    def sleep(self, seconds: float) -> None:
        """Sleep, but not through a cancellation."""
        self._cancelled.wait(seconds)
        self.check()

    @contextmanager
    def hanging_up(self, connected: socket.socket) -> Iterator[None]:
        """While the block runs, a cancellation ends what goes over this socket."""
        with self._lock:
            self._socket = connected
        try:
            self.check()
            yield
        finally:
            with self._lock:
                self._socket = None
