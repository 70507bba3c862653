"""When a child that speaks stream-json is done: it ends only when its stdin is closed."""

from __future__ import annotations

import threading
from typing import Callable

# Whatever was said while the child was at work becomes part of that turn, or begins the next one at once:
# a child that is silent for so long after a turn has nothing left to do.
QUIET_SECONDS = 2.0


class Turns:
    """Counts what was said to the child and what it made of it, and hangs up when nothing is left."""

    def __init__(self, hang_up: Callable[[], None], quiet_seconds: float = QUIET_SECONDS) -> None:
        self._hang_up = hang_up
        self._quiet_seconds = quiet_seconds
        self._lock = threading.Lock()
        self._said = self._ended = 0
        self._is_at_work = False
        self._is_last_input_given = False
        self._timer: threading.Timer | None = None

    def said(self) -> None:
        """Somebody said something to the child."""
        with self._lock:
            self._said += 1
            self._works()

    def heard(self) -> None:
        """The child has begun something."""
        with self._lock:
            self._works()

    def ended(self) -> None:
        """The child has ended a turn."""
        with self._lock:
            self._ended += 1
            self._is_at_work = False
            self._consider()

    def gave_last_input(self) -> None:
        """Nobody has anything more to say."""
        with self._lock:
            self._is_last_input_given = True
            self._consider()

    def _works(self) -> None:
        self._is_at_work = True
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _consider(self) -> None:
        if not self._is_last_input_given or (self._said and self._is_at_work):
            return
        if self._ended >= self._said:
            self._hang_up()
        elif self._timer is None:
            self._timer = threading.Timer(self._quiet_seconds, self._hang_up_after_silence)
            self._timer.daemon = True
            self._timer.start()

    def _hang_up_after_silence(self) -> None:
        with self._lock:
            if not self._is_at_work:
                self._hang_up()
