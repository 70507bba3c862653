"""A running target: its processes, people and keys."""

import asyncio
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import psycopg

from bench.connections import HOST, PATIENCE_SECONDS, Failed
from bench.protocols import AskBridge, Key, Login
from tests.harness import resources
from tests.harness.people import Person
from tests.harness.sites import ROOT, START_SECONDS, Site, free_port

# Poll interval while a server starts or stops.
LOOK_SECONDS = 0.02
# How often whether one has come to rest, which is when it uses less than this part of a core.
REST_LOOK_SECONDS = 0.25
REST_SHARE = 0.3

# (port) -> command line
Command = Callable[[int], Sequence[str]]


class Server(Site):
    """One started program on a port that was chosen for it; what it says goes into a file."""

    def __init__(self, command: Command, environment: dict[str, str], port: int, log: Path) -> None:
        self.port = port
        self._log = log
        with log.open("ab") as said:
            self.process = subprocess.Popen(
                command(port),
                cwd=ROOT,
                env=environment | {"PORT": str(port)},
                stdout=said,
                stderr=said,
                process_group=0,  # with its workers, if it has some, it can be ended as one
            )
        try:
            self._wait_until_it_listens()
        except BaseException:
            self.end()
            raise

    def _wait_until_it_listens(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self._listens():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise Failed(f"{self.process.args!r} does not serve: {self._log.read_text()[-2000:]}")
            time.sleep(LOOK_SECONDS)

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((HOST, self.port)) == 0

    def end(self) -> None:
        """As a machine that loses power would: what counts is what comes after."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        while self._listens():  # a worker that is about to end
            time.sleep(LOOK_SECONDS)


@dataclass(frozen=True)
class Sample:
    """What all processes of a target hold and have used."""

    memory_bytes: int
    threads: int
    database_handles: int
    cpu_seconds: float


@dataclass
class Roster:
    """Who can sign in and ask."""

    people: list[str]
    password: str
    keys: list[Key]
    room: str


class Service:
    """One target in one round."""

    def __init__(
        self,
        dialect: AskBridge,
        commands: Sequence[Command],
        environment: dict[str, str],
        folder: Path,
        roster: Roster,
        database_url: str = "",
    ) -> None:
        self.dialect = dialect
        self._commands = commands
        self._environment = environment
        self._folder = folder
        self._roster = roster
        self._database_url = database_url
        self.ports = [free_port() for _ in commands]
        self.servers: list[Server] = []
        self.logins: list[Login] = []
        self._keys: Iterator[Key] = cycle(roster.keys)

    @property
    def room(self) -> str:
        """Where people click."""
        return self._roster.room

    @property
    def room_key(self) -> Key:
        """Of an agent in that room."""
        return next(key for key in self._roster.keys if key.room == self.room)

    def next_key(self) -> Key:
        """Another one each time, so that none asks more often than it may."""
        return next(self._keys)

    def start(self) -> None:
        """Start all processes, and sign in people who are not signed in."""
        for number, (command, port) in enumerate(zip(self._commands, self.ports, strict=True)):
            log = self._folder / f"server-{number}.log"
            self.servers.append(Server(command, self._environment, port, log))
        if not self.logins:
            site = self.servers[0]
            people = [Person(site, name, self._roster.password) for name in self._roster.people]
            self.logins = [Login(person.cookies) for person in people] or [Login({})]

    def kill(self) -> None:
        """All processes, at once."""
        while self.servers:
            self.servers.pop().end()

    def sample(self) -> Sample:
        return Sample(
            sum(map(resources.memory_bytes, self.servers)),
            sum(map(resources.threads, self.servers)),
            self._database_handles(),
            self.cpu_seconds(),
        )

    def cpu_seconds(self) -> float:
        return sum(map(resources.cpu_seconds, self.servers))

    async def rest(self) -> None:
        """Returns when the processes have little left to do."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        used = self.cpu_seconds()
        while time.monotonic() < deadline:
            await asyncio.sleep(REST_LOOK_SECONDS)
            before, used = used, self.cpu_seconds()
            if used - before < REST_LOOK_SECONDS * REST_SHARE:
                return

    def _database_handles(self) -> int:
        if not self._database_url:
            return sum(map(resources.database_handles, self.servers))
        with psycopg.connect(self._database_url) as connection:
            count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            row = connection.execute(count).fetchone()
            assert row
            return int(row[0])
