"""Stop signals as an exception, so that a wait can be ended before the process exits."""

from __future__ import annotations

import signal
from types import FrameType

# SIGTERM: Claude Code sends it on Esc, on a timeout, and when its dialog was answered first. SIGINT: Ctrl-C.
# SIGHUP: the terminal was closed.
STOP_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")


class Stopped(BaseException):
    """A signal asked this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        # As shells count it.
        self.exit_code = 128 + number


def raise_stopped() -> None:
    """Raise Stopped in the main thread on the first such signal; ignore further ones."""
    for name in STOP_SIGNALS:
        # Windows has no SIGHUP.
        number = getattr(signal, name, None)
        # The shell tells background processes of a script to ignore Ctrl-C; keep that.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    for name in STOP_SIGNALS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    raise Stopped(number)
