"""Site processes (`manage.py serve`) and commands, each with an environment of its own."""

import os
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.harness.http import Reply
from tests.harness.shared_folder import made_once

ROOT = Path(__file__).resolve().parents[2]
# A first start on a busy machine; a start that takes longer is a failure.
START_SECONDS = 60
# Below the kernel's range for clients: while a site is down, a client that tries to connect could otherwise
# get the site's own port and connect to itself. In random order, because other processes take ports, too.
PORTS = iter(random.sample(range(20_000, 32_000), 12_000))
# In the environment of a site on which people sign in.
QUICK_PASSWORDS = {"DJANGO_SETTINGS_MODULE": "tests.harness.quick_settings"}


def free_port() -> int:
    """A port to keep over restarts: the kernel gives it to no client, and this function only once."""
    for port in PORTS:
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


class Site:
    """A running `manage.py serve`."""

    # The path below which a portal has mounted the bridge.
    prefix = ""

    def __init__(self, environment: dict[str, str], *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "serve", *arguments],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.printed = self._read_until(rb"Ask Bridge is running on .*\n")
        self.port = int(re.findall(r"Ask Bridge is running on http://[^ ]+:(\d+) ", self.printed)[0])

    def _read_until(self, pattern: bytes) -> str:
        assert self.process.stdout
        assert self.process.stderr
        printed, deadline = b"", time.monotonic() + START_SECONDS
        while not re.search(pattern, printed):
            remaining = max(0, deadline - time.monotonic())
            if not select.select([self.process.stdout], [], [], remaining)[0]:
                self.process.kill()
                _, errors = self.process.communicate()
                pytest.fail(f"serve was not ready after {START_SECONDS} seconds: {errors.decode()}")
            chunk = os.read(self.process.stdout.fileno(), 65536)
            if not chunk:
                pytest.fail(f"serve ended: {self.process.stderr.read().decode()}")
            printed += chunk
        return printed.decode()

    def connect(self) -> HTTPConnection:
        """A connection to this site."""
        return HTTPConnection("127.0.0.1", self.port, timeout=START_SECONDS)

    def request(self, method: str, path: str, **options: Any) -> Reply:
        """One request on a connection of its own, and the whole reply."""
        with closing(self.connect()) as connection:
            connection.request(method, path, **options)
            response = connection.getresponse()
            return Reply(response.status, response.headers, response.read().decode())

    def download(self, path: str) -> bytes:
        """The bytes of a file that the site offers."""
        with closing(self.connect()) as connection:
            connection.request("GET", path)
            response = connection.getresponse()
            assert response.status == 200
            return response.read()

    def stop(self, signal_number: int = signal.SIGTERM) -> tuple[int, str]:
        """Exit code, and everything that it wrote to stderr."""
        self.process.send_signal(signal_number)
        _, errors = self.process.communicate(timeout=START_SECONDS)
        return self.process.returncode, errors.decode()

    def end(self) -> None:
        """Kill it if it still runs, and close its pipes."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()


def clean_environment(data: Path) -> dict[str, str]:
    """An environment without the developer's settings, with a free port and collected static files."""
    with made_once("static-files", _collect_static_files) as static_files:
        return _bare_environment(data) | {"STATIC_DIR": str(static_files)}


def _collect_static_files(folder: Path) -> None:
    """Once for all sites of a test run: each start would collect them for a second."""
    variables = _bare_environment(folder / "data") | {"STATIC_DIR": str(folder)}
    code = "import django; django.setup(); from bridge.static_files import collect; collect()"
    subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=variables | {"DJANGO_SETTINGS_MODULE": "bridge.settings"},
        check=True,
    )
    shutil.rmtree(folder / "data")


def _bare_environment(data: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "DATA_DIR": str(data),
        "PORT": "0",
        "PYTHONWARNINGS": "error::DeprecationWarning:bridge",
    }


def run_manage(environment: dict[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
    )
