"""Being told to stop, as an exception: whoever waits can say goodbye on the way out."""

from __future__ import annotations

import signal
from types import FrameType

# What Claude Code sends on Esc, on a timeout and when its dialog was faster; Ctrl-C; a terminal that closes.
STOP_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")


class Stopped(BaseException):
    """A signal asked this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        # As shells count it.
        self.exit_code = 128 + number


def raise_stopped() -> None:
    """From now on the first such signal raises Stopped in the main thread; more of them change nothing."""
    for name in STOP_SIGNALS:
        # Windows has no SIGHUP.
        number = getattr(signal, name, None)
        # A process in the background of a script was told to ignore Ctrl-C; so be it.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    for name in STOP_SIGNALS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    raise Stopped(number)
