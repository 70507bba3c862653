"""Running portals: other Django projects with Ask Bridge in them."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.harness.agents import Agent
from tests.harness.people import Person
from tests.harness.sites import ROOT, START_SECONDS, Site, clean_environment, free_port
from tests.harness.timing import eventually

PASSWORD = secrets.token_urlsafe(12)
ASGI_SERVER = ["-m", "daphne", "-b", "127.0.0.1", "-p", "PORT"]
# WSGI, or ASGI where `daphne` is an installed app. `--insecure` lets it serve static files, too.
RUNSERVER = ["-m", "django", "runserver", "127.0.0.1:PORT", "--noreload", "--insecure"]


class Portal(Site):
    """A server process of another Django project; its output is in `log`."""

    def __init__(
        self, command: list[str], folder: Path, environment: dict[str, str], prefix: str = "/ask"
    ) -> None:
        self.port = free_port()
        self.prefix = prefix
        self.log = folder / "server.log"
        self._command = [part.replace("PORT", str(self.port)) for part in command]
        self._folder, self._environment = folder, environment
        self.start()

    def start(self) -> None:
        """Start the server; after its end once more, on the same port and with the same log."""
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                self._command,
                cwd=self._folder,
                env=self._environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A process group of its own, so that `end` reaches its workers, too.
                start_new_session=True,
            )
        eventually(self._is_up, START_SECONDS)

    def end(self) -> None:
        """Kill it and its worker processes, if they still run."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        super().end()

    def _is_up(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.request("GET", f"{self.prefix}/healthz").status == 200
        except OSError:
            return False

    def agent(self, room: str, key: str) -> Agent:
        return Agent(self, room, key, self.prefix)

    def person(self, username: str, password: str, login_address: str) -> Person:
        """A person who signed in on the portal's own page."""
        kind = type("PortalPerson", (Person,), {"prefix": self.prefix, "login_address": login_address})
        return kind(self, username, password)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Host:
    """A running portal out of `hosts/`, two people in it, and an agent."""

    portal: Portal
    agent: Agent
    environment: dict[str, str]
    # The path that everything of the portal is below.
    root: str

    def person(self, name: str) -> Person:
        return self.portal.person(f"{name}@x.org", PASSWORD, f"{self.root}/entrance/")

    def run(self, *command: str) -> str:
        return run(self.environment, *command)


def prepare(settings: str, data: Path, **variables: str) -> str:
    """Make the tables of a host; returns the key of its agent."""
    environment = host_environment(settings, data) | variables
    return run(environment, "tests.portal.hosts.prepare", PASSWORD).split()[-1]


@contextmanager
def running_host(
    settings: str,
    data: Path,
    server: list[str],
    prefix: str = "/ask",
    root: str = "",
    key: str = "",
    **variables: str,
) -> Iterator[Host]:
    """The portal of these settings, on a database of its own; with a key `prepare` has made it already."""
    environment = host_environment(settings, data) | variables
    key = key or prepare(settings, data, **variables)
    portal = Portal([sys.executable, *server], data, environment, f"{root}{prefix}")
    try:
        yield Host(portal, portal.agent("lobby", key), environment, root)
    finally:
        portal.end()


def host_environment(settings: str, data: Path) -> dict[str, str]:
    return clean_environment(data) | {
        "DJANGO_SETTINGS_MODULE": f"tests.portal.hosts.{settings}",
        "PYTHONPATH": str(ROOT),
        "HOST_DATA": str(data),
    }


def run(environment: dict[str, str], module: str, *arguments: str) -> str:
    """What a Python module prints that has to succeed."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
