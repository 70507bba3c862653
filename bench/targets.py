"""Targets: Ask Bridge in three set-ups, and its alternatives."""

import hashlib
import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench.connections import HOST, Failed
from bench.protocols import AskBridge, EventStream, Key, Nchan, RawHub
from bench.services import Command, Roster, Service
from tests.harness.databases import postgres_and_redis_urls
from tests.harness.nginx import nginx_program
from tests.harness.sites import ROOT, clean_environment

PASSWORD = secrets.token_urlsafe(12)
# A team with a handful of rooms. People and keys are so many that none does more than it may in a minute.
PEOPLE = [f"person-{number}" for number in range(3)]
ROOMS = [f"room-{number}" for number in range(5)]
KEYS_PER_ROOM = 12
# For every viewer and agent a socket, and what a target opens with it: three files of SQLite, for instance.
OPEN_FILES = 20_000

ANCHORS = "bench.anchors"
EVENTSTREAM = f"{ANCHORS}.eventstream"

# Run inside the target's own environment, in one process: each costs a second.
POPULATE_OURS = """
import json
from django.contrib.auth import get_user_model
from django.core.management import call_command
from rooms import access, lifecycle
call_command("migrate", verbosity=0)
call_command("createcachetable", verbosity=0)
for name in {people!r}:
    get_user_model().objects.create_user(name, password={password!r})
rooms = [lifecycle.create_room(slug, is_open=True, members=[]) for slug in {rooms!r}]
print(json.dumps([(room.slug, access.create_key(room, label=f"bench-{{number}}")[1])
                  for number in range({keys!r}) for room in rooms]))
"""
POPULATE_EVENTSTREAM = """
from django.contrib.auth import get_user_model
from django.core.management import call_command
from bench.anchors.eventstream.models import Key
call_command("migrate", run_syncdb=True, verbosity=0)
for name in {people!r}:
    get_user_model().objects.create_user(name, password={password!r})
Key.objects.bulk_create(Key(room=room, digest=digest) for room, digest in {digests!r})
"""


@dataclass(frozen=True)
class Target:
    """Something to measure."""

    name: str
    label: str
    # Starts nothing yet: gives a service, and takes back what it needed.
    open: Callable[[Path], AbstractContextManager[Service]]
    # What has to be installed first, or nothing.
    missing: Callable[[], str]
    # Publishes to pages and knows no questions, so only its fan-out can be compared.
    fans_out_only: bool = False
    is_ours: bool = False


# ---- ours


def _serve(port: int) -> Sequence[str]:
    return [sys.executable, "manage.py", "serve"]


def _uvicorn(application: str) -> Command:
    # Django itself looks at what a proxy says.
    options = ["--host", HOST, "--no-access-log", "--no-proxy-headers", "--log-level", "warning"]
    return lambda port: [sys.executable, "-m", "uvicorn", application, *options, "--port", str(port)]


def _daphne(application: str) -> Command:
    return lambda port: [sys.executable, "-m", "daphne", "-v0", "-b", HOST, "-p", str(port), application]


def _ours(command: Command) -> Callable[[Path], AbstractContextManager[Service]]:
    @contextmanager
    def opened(folder: Path) -> Iterator[Service]:
        environment = clean_environment(folder / "data")
        yield Service(AskBridge(), [command], environment, folder, _prepare_ours(environment))

    return opened


def _ours_scaled(command: Command) -> Callable[[Path], AbstractContextManager[Service]]:
    @contextmanager
    def opened(folder: Path) -> Iterator[Service]:
        with postgres_and_redis_urls() as urls:
            environment = clean_environment(folder / "data") | urls
            roster = _prepare_ours(environment)
            yield Service(AskBridge(), [command, command], environment, folder, roster, urls["DATABASE_URL"])

    return opened


def _prepare_ours(environment: dict[str, str]) -> Roster:
    script = POPULATE_OURS.format(people=PEOPLE, password=PASSWORD, rooms=ROOMS, keys=KEYS_PER_ROOM)
    keys = json.loads(_run([sys.executable, "manage.py", "shell", "-v0", "-c", script], environment))
    return _roster([Key(*key) for key in keys])


def _no_postgres_and_redis() -> str:
    try:
        with postgres_and_redis_urls():
            return ""
    except pytest.skip.Exception:
        return "PostgreSQL and Redis (scripts/test-services starts them)"


# ---- what people would use instead


def _eventstream(command: Command) -> Callable[[Path], AbstractContextManager[Service]]:
    @contextmanager
    def opened(folder: Path) -> Iterator[Service]:
        environment = clean_environment(folder / "data")
        environment |= {"DJANGO_SETTINGS_MODULE": f"{EVENTSTREAM}.settings"}
        Path(environment["DATA_DIR"]).mkdir(parents=True)
        keys = _made_up_keys()
        digests = [(key.room, hashlib.sha256(key.text.encode()).hexdigest()) for key in keys]
        script = POPULATE_EVENTSTREAM.format(people=PEOPLE, password=PASSWORD, digests=digests)
        _run([sys.executable, "-m", "django", "shell", "-v0", "-c", script], environment)
        yield Service(EventStream(), [command], environment, folder, _roster(keys))

    return opened


@contextmanager
def _raw_hub(folder: Path) -> Iterator[Service]:
    environment = clean_environment(folder / "data")
    keys = _made_up_keys()
    roster = {"people": PEOPLE, "password": PASSWORD, "keys": [(key.room, key.text) for key in keys]}
    data = Path(environment["DATA_DIR"])
    data.mkdir(parents=True)
    (data / "roster.json").write_text(json.dumps(roster))
    command = [sys.executable, "-m", f"{ANCHORS}.raw_hub"]
    yield Service(RawHub(), [lambda port: command], environment, folder, _roster(keys))


@contextmanager
def _nchan(folder: Path) -> Iterator[Service]:
    def command(port: int) -> Sequence[str]:
        configuration = folder / "nginx.conf"
        configuration.write_text(
            (Path(__file__).parent / "anchors" / "nchan.conf")
            .read_text()
            .format(
                load_module=f"load_module {_nchan_module()};",
                # Workers of a root nginx run as `nobody`, who may not read this folder.
                user="user root;" if os.geteuid() == 0 else "",
                folder=folder,
                files=OPEN_FILES,
                port=port,
            )
        )
        return [nginx_program(), "-p", str(folder), "-c", str(configuration)]

    yield Service(Nchan(), [command], clean_environment(folder), folder, Roster([], "", [], ROOMS[0]))


def _nchan_module() -> Path | None:
    shown = subprocess.run([nginx_program(), "-V"], capture_output=True, text=True, check=True).stderr
    folders = re.findall(r"--modules-path=(\S+)", shown)
    found = [Path(folder) / "ngx_nchan_module.so" for folder in folders]
    return next((module for module in found if module.exists()), None)


def _no_nchan() -> str:
    try:
        return "" if _nchan_module() else "nginx's module nchan (on Debian: apt install libnginx-mod-nchan)"
    except pytest.skip.Exception as skipped:
        return str(skipped.msg)


# ---- all of them


def _made_up_keys() -> list[Key]:
    return [Key(room, secrets.token_urlsafe(24)) for _ in range(KEYS_PER_ROOM) for room in ROOMS]


def _roster(keys: list[Key]) -> Roster:
    return Roster(PEOPLE, PASSWORD, keys, ROOMS[0])


def _run(command: Sequence[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{' '.join(command)[:200]} failed: {done.stderr[-2000:]}")
    return done.stdout


def _needs(*modules: str) -> Callable[[], str]:
    def missing() -> str:
        absent = [module for module in modules if find_spec(module) is None]
        return f"{' and '.join(absent)} (`make bench` installs them)" if absent else ""

    return missing


_ASGI = "bridge.asgi:application"
_EVENTSTREAM_ASGI = f"{EVENTSTREAM}.asgi:application"

# Each of ours beside what it is compared with.
TARGETS = {
    target.name: target
    for target in (
        Target("daphne", "Ask Bridge, Daphne", _ours(_serve), _needs(), is_ours=True),
        Target(
            "eventstream-daphne",
            "django-eventstream, Daphne",
            _eventstream(_daphne(_EVENTSTREAM_ASGI)),
            _needs("django_eventstream"),
        ),
        Target("uvicorn", "Ask Bridge, uvicorn", _ours(_uvicorn(_ASGI)), _needs("uvicorn"), is_ours=True),
        Target(
            "eventstream-uvicorn",
            "django-eventstream, uvicorn",
            _eventstream(_uvicorn(_EVENTSTREAM_ASGI)),
            _needs("django_eventstream", "uvicorn"),
        ),
        Target("raw", "raw asyncio hub", _raw_hub, _needs()),
        Target("nchan", "nginx + nchan", _nchan, _no_nchan, fans_out_only=True),
        Target(
            "scaled",
            "Ask Bridge, two processes",
            _ours_scaled(_serve),
            _no_postgres_and_redis,
            is_ours=True,
        ),
    )
}
