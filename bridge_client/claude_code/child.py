"""A child process that speaks stream-json: one JSON object per line, both ways."""

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

# The capacity of a pipe.
CHUNK_BYTES = 65536
# For a write to a child that has ended. It fails at once, unless a grandchild keeps the pipe open.
LAST_WRITE_SECONDS = 1.0


class StreamChild:
    """The child: queues lines for its stdin, and iterates over its stdout."""

    def __init__(self, command: Sequence[str]) -> None:
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
        except OSError as error:
            raise SettingsError(f"Cannot run {command[0]}: {error.strerror}") from None
        # Written by a thread: the reader of its output must not block on a child that does not read.
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._writer = threading.Thread(target=self._write, args=(self.process.stdin,), daemon=True)
        self._writer.start()

    def send(self, message: dict[str, Any]) -> None:
        """Send one message to its stdin."""
        self.send_line(json.dumps(message).encode())

    def send_line(self, line: bytes) -> None:
        self._lines.put(line + b"\n")

    def close_input(self) -> None:
        """Close its stdin after everything that was sent; the child exits when its work is done."""
        self._lines.put(None)

    def lines(self) -> Iterator[bytes]:
        """The lines of its stdout, until it closes it."""
        assert self.process.stdout  # noqa: S101 - for the type checker
        with self.process.stdout as stdout:
            yield from stdout

    def wait(self) -> int:
        """Wait for its end and return its exit code, as shells count it after a signal."""
        code = self.process.wait()
        self.close_input()
        self._writer.join(LAST_WRITE_SECONDS)
        return code if code >= 0 else 128 - code

    def _write(self, stdin: IO[bytes]) -> None:
        # A child that has ended needs no more input.
        with suppress(OSError), stdin:
            while True:
                line = self._lines.get()
                if line is None:
                    return
                stdin.write(line)
                stdin.flush()


def lines_from(descriptor: int) -> Iterator[bytes]:
    """Lines as they arrive, without line ends and without empty lines."""
    # Not sys.stdin: a thread that still reads at exit would never release its lock.
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
    """The JSON object on this line, or None."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None
