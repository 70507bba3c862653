"""A Redis and a PostgreSQL of the test's own, which it can kill, freeze and restart."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from signal import Signals
from typing import Any

import psycopg
import pytest
import redis

from tests.harness.sites import free_port

START_SECONDS = 30
# PostgreSQL refuses to run as root.
UNPRIVILEGED = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}


class Server:
    """A program with its data in a folder; it restarts on the same port with the same data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def command(self) -> list[str]:
        raise NotImplementedError

    @property
    def options(self) -> dict[str, Any]:
        return {}

    def answers(self) -> bool:
        raise NotImplementedError

    def start(self) -> None:
        """Returns when it serves."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log, cwd=self.folder, **self.options
            )
        _wait_until(self.answers, self.folder / "log")

    def send(self, number: Signals, *, to_children: bool = False) -> None:
        assert self.process
        pid = self.process.pid
        # The parent first, so that it starts no more children.
        self.process.send_signal(number)
        if to_children:
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                with suppress(ProcessLookupError):
                    os.kill(int(child), number)

    def crash(self) -> None:
        """Kill it."""
        self.send(Signals.SIGKILL)
        assert self.process
        self.process.wait(START_SECONDS)

    def freeze(self) -> None:
        """Stop it with SIGSTOP: its connections stay open and get no reply."""
        self.send(Signals.SIGSTOP, to_children=True)

    def thaw(self) -> None:
        self.send(Signals.SIGCONT, to_children=True)

    def end(self) -> None:
        if self.process and self.process.poll() is None:
            self.thaw()
            self.crash()


class OwnRedis(Server):
    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def command(self) -> list[str]:
        return ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]

    def answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False


class OwnPostgres(Server):
    NAME = "ask_bridge"

    @property
    def url(self) -> str:
        return f"postgres://{self.NAME}@127.0.0.1:{self.port}/{self.NAME}"

    @property
    def command(self) -> list[str]:
        data = ["-D", str(self.folder / "data"), "-p", str(self.port)]
        return [program("postgres"), *data, "-h", "127.0.0.1", "-k", str(self.folder)]

    @property
    def options(self) -> dict[str, Any]:
        return UNPRIVILEGED

    def create(self) -> None:
        """An empty cluster and a database in it."""
        if UNPRIVILEGED:
            shutil.chown(self.folder, "postgres", "postgres")
        made = subprocess.run(
            [program("initdb"), "--no-sync", "-A", "trust", "-U", self.NAME, "-D", str(self.folder / "data")],
            capture_output=True,
            cwd=self.folder,
            **self.options,
        )
        assert made.returncode == 0, made.stderr
        self.start()
        with psycopg.connect(self.url, dbname="postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {self.NAME}")

    def answers(self) -> bool:
        try:
            psycopg.connect(self.url, dbname="postgres", connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def crash(self) -> None:
        # "Immediate": every backend ends at once, and the next start recovers from the log. A killed
        # postmaster would leave backends behind that keep the next one from starting.
        self.send(Signals.SIGQUIT)
        assert self.process
        self.process.wait(START_SECONDS)


def program(name: str) -> str:
    """Where it is; Debian keeps PostgreSQL's out of the path."""
    for folder in (None, *sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)):
        if found := shutil.which(name, path=folder):
            return found
    if os.environ.get("CI") == "true":
        pytest.fail(f"needs {name}")
    pytest.skip(f"needs {name}")


def _wait_until(condition: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not condition():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.02)


@contextmanager
def own_redis() -> Iterator[OwnRedis]:
    program("redis-server")
    with _folder() as folder:
        server = OwnRedis(folder)
        try:
            server.start()
            yield server
        finally:
            server.end()


@contextmanager
def own_postgres() -> Iterator[OwnPostgres]:
    with _folder() as folder:
        server = OwnPostgres(folder)
        try:
            server.create()
            yield server
        finally:
            server.end()


@contextmanager
def _folder() -> Iterator[Path]:
    # Not below pytest's folder, which only its owner may enter.
    with tempfile.TemporaryDirectory(prefix="ask-bridge-", ignore_cleanup_errors=True) as name:
        yield Path(name)
