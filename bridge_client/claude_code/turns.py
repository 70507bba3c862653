"""Turns of a stream-json child, which exits only when its stdin is closed: after its last turn."""

from __future__ import annotations

import threading
from typing import Callable

# A message to a busy child becomes part of the current turn, or starts the next one at once. So a child that
# is silent for so long after a turn has nothing left to do.
QUIET_SECONDS = 2.0


class Turns:
    """Counts messages and finished turns, and closes the child's stdin when nothing is left to do."""

    def __init__(self, close_input: Callable[[], None], quiet_seconds: float = QUIET_SECONDS) -> None:
        self._close_input = close_input
        self._quiet_seconds = quiet_seconds
        self._lock = threading.Lock()
        self._messages = self._turns = 0
        self._is_busy = False
        self._is_input_ended = False
        self._timer: threading.Timer | None = None

    def message_sent(self) -> None:
        """Call when the child got a message."""
        with self._lock:
            self._messages += 1
            self._start_turn()

    def turn_started(self) -> None:
        """Call when the child works on a turn."""
        with self._lock:
            self._start_turn()

    def turn_ended(self) -> None:
        """Call when the child has finished a turn."""
        with self._lock:
            self._turns += 1
            self._is_busy = False
            self._close_if_done()

    def input_ended(self) -> None:
        """Call when the child gets no more messages."""
        with self._lock:
            self._is_input_ended = True
            self._close_if_done()

    def _start_turn(self) -> None:
        self._is_busy = True
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _close_if_done(self) -> None:
        if not self._is_input_ended or (self._messages and self._is_busy):
            return
        if self._turns >= self._messages:
            self._close_input()
        elif self._timer is None:
            self._timer = threading.Timer(self._quiet_seconds, self._close_after_silence)
            self._timer.daemon = True
            self._timer.start()

    def _close_after_silence(self) -> None:
        with self._lock:
            if not self._is_busy:
                self._close_input()
