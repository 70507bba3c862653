"""A child process that speaks stream-json: one JSON object a line, both ways."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import IO, Any

from bridge_client.errors import SettingsError

# A pipe holds as much.
CHUNK_BYTES = 65536
# For a write to a child that has ended, which fails at once unless a process of its own keeps the pipe open.
LAST_WRITE_SECONDS = 1.0


class StreamChild:
    """Takes lines without making anybody wait, and gives back its own."""

    def __init__(self, command: Sequence[str]) -> None:
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
        except OSError as error:
            raise SettingsError(f"Cannot run {command[0]}: {error.strerror}") from None
        # Written by a thread: whoever reads its output must not wait for a child that does not read.
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._writer = threading.Thread(target=self._write, args=(self.process.stdin,), daemon=True)
        self._writer.start()

    def send(self, message: dict[str, Any]) -> None:
        """One message for its stdin."""
        self.send_line(json.dumps(message).encode())

    def send_line(self, line: bytes) -> None:
        self._lines.put(line + b"\n")

    def hang_up(self) -> None:
        """Close its stdin after everything that was sent; it ends when it has done its work."""
        self._lines.put(None)

    def lines(self) -> Iterator[bytes]:
        """Everything that it says, until it has said its last."""
        assert self.process.stdout  # noqa: S101 - for the type checker
        with self.process.stdout as stdout:
            yield from stdout

    def wait(self) -> int:
        """Its exit code when it has ended, as shells count one that a signal ended."""
        code = self.process.wait()
        self.hang_up()
        self._writer.join(LAST_WRITE_SECONDS)
        return code if code >= 0 else 128 - code

    def _write(self, stdin: IO[bytes]) -> None:
        # A child that has gone needs nothing any more.
        with suppress(OSError), stdin:
            while True:
                line = self._lines.get()
                if line is None:
                    return
                stdin.write(line)
                stdin.flush()


def lines_from(descriptor: int) -> Iterator[bytes]:
    """Lines as they come, without their ends, and without those that are empty."""
    # Not sys.stdin, whose lock a thread that still reads at exit would hold for ever.
    rest = b""
    while True:
        try:
            chunk = os.read(descriptor, CHUNK_BYTES)
        except OSError:
            chunk = b""
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line for line in lines if line.strip())
        if not chunk:
            if rest.strip():
                yield rest
            return


def parsed(line: bytes) -> dict[str, Any] | None:
    """The object on this line, if it is one."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None
