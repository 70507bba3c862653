"""Real processes of the site, each with an environment of its own."""

import json
import os
import random
import re
import select
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from html import unescape
from http.client import HTTPConnection, HTTPMessage
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis

ROOT = Path(__file__).resolve().parents[1]
# A first start on a busy machine; a test that needs longer has found something.
START_SECONDS = 60
# Below those that the kernel gives to clients: while a site is down, a client that tries to connect could
# else be given the site's own port, and connect to itself. In any order: other processes try, too.
PORTS = iter(random.sample(range(20_000, 32_000), 12_000))


def free_port() -> int:
    """One to keep over restarts: the kernel gives it to nobody, and we to nobody else."""
    for port in PORTS:
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: HTTPMessage
    text: str

    def block(self, name: str) -> str:
        """The text to paste in the element of this class."""
        found = re.search(rf'class="[^"]*\b{name}\b.*?<pre[^>]*><code>(.*?)</code>', self.text, re.DOTALL)
        assert found, f"no block {name}"
        return unescape(found.group(1))

    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.text)


class Site:
    """A running `manage.py serve`."""

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
            select.select([self.process.stdout], [], [], deadline - time.monotonic())
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
        """Exit code, and what was written to stderr in its whole life."""
        self.process.send_signal(signal_number)
        _, errors = self.process.communicate(timeout=START_SECONDS)
        return self.process.returncode, errors.decode()

    def end(self) -> None:
        """Gone for good, however it feels."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()


def clean_environment(data: Path) -> dict[str, str]:
    """Nothing of the developer's own settings, and a free port."""
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


@contextmanager
def postgres_and_redis_urls(template: str = "template1") -> Iterator[dict[str, str]]:
    """A PostgreSQL database, empty or as its template, and Redis: the two variables that name them."""
    urls = new_database(template)
    yield urls
    drop_database(urls["DATABASE_URL"])


def new_database(template: str = "template1") -> dict[str, str]:
    """One that somebody else has to drop, and Redis."""
    postgres = _postgres()
    redis_url = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/15")
    name = f"ask_bridge_site_{uuid.uuid4().hex[:8]}"
    try:
        with redis.Redis.from_url(redis_url) as client:
            client.ping()
        admin = psycopg.connect(postgres, dbname="postgres", autocommit=True)
    except (OSError, psycopg.Error, redis.RedisError):
        if os.environ.get("CI") == "true":
            raise
        pytest.skip("needs PostgreSQL and Redis")
    with admin:
        admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    return {"DATABASE_URL": f"{postgres.rpartition('/')[0]}/{name}", "REDIS_URL": redis_url}


def drop_database(url: str) -> None:
    with psycopg.connect(_postgres(), dbname="postgres", autocommit=True) as admin:
        admin.execute(f'DROP DATABASE "{name_of_database(url)}" WITH (FORCE)')


def name_of_database(url: str) -> str:
    return url.rpartition("/")[2]


def _postgres() -> str:
    return os.environ.get("TEST_DATABASE_URL", "postgres://ask_bridge:ask_bridge@127.0.0.1:5432/ask_bridge")
