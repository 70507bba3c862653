"""A pseudo-terminal with a program in it: its screen can be read, and keys can be pressed."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Callable
from pathlib import Path
from threading import Condition, Thread
from typing import TypeVar

import pyte

from tests.agents.scripted_model import PATIENCE_SECONDS

ENTER, ESCAPE, DOWN, SPACE, TAB = "\r", "\x1b", "\x1b[B", " ", "\t"

COLUMNS, LINES = 110, 50

Result = TypeVar("Result")


def _pointed_at(text: str) -> str:
    """The option with the pointer: numbered or indented, unlike what was typed at the prompt."""
    found = re.search(r"^❯ (\d+\.| ) (?:\[.\])? *(.+?)(?:  .*)?$", text, re.MULTILINE)
    return found.group(2) if found else ""


class Terminal:
    """The screen as a person sees it."""

    def __init__(self, command: list[str], directory: Path, environment: dict[str, str]) -> None:
        self._screen = pyte.Screen(COLUMNS, LINES)
        self._stream = pyte.ByteStream(self._screen)
        self._changed = Condition()
        self._keyboard, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
        )
        os.close(inside)
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._keyboard, 65536)
            except OSError:  # the program has closed its side
                return
            with self._changed:
                self._stream.feed(data)
                self._changed.notify_all()

    @property
    def text(self) -> str:
        with self._changed:
            return self._text()

    def _text(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display if line.strip())

    def press(self, *keys: str) -> None:
        for key in keys:
            os.write(self._keyboard, key.encode())

    def choose(self, label: str) -> None:
        """Move the pointer of a menu down to this option, and take it."""
        self.wait_for(label)
        while (pointed := self._wait_until(_pointed_at)) != label:
            self.press(DOWN)
            self._wait_until(lambda text, last=pointed: _pointed_at(text) not in ("", last))  # type: ignore[misc]
        self.press(ENTER)

    def wait_for(self, text: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Until it can be read on the screen."""
        self._wait_until(lambda shown: text in shown, seconds)

    def wait_until_gone(self, text: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Until it can no longer be read on the screen."""
        self._wait_until(lambda shown: text not in shown, seconds)

    def _wait_until(self, look: Callable[[str], Result], seconds: float = PATIENCE_SECONDS) -> Result:
        with self._changed:
            found = self._changed.wait_for(lambda: look(self._text()), seconds)
            assert found, f"not within {seconds} seconds on:\n{self._text()}"
            return found

    def close(self) -> None:
        """After the program has ended."""
        self._reader.join(PATIENCE_SECONDS)
        os.close(self._keyboard)
