"""Database, keys and data folder are for the user of the site alone."""

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness.agents import Agent
from tests.harness.sites import Site

Serve = Callable[..., Site]


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that all users of this machine can enter, unlike those of pytest.

    Name it before `serve`: fixtures end in reverse order, and the site has to end first.
    """
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def careless_umask() -> Iterator[None]:
    """All users may read and write what a program makes."""
    before = os.umask(0)
    yield
    os.umask(before)


def private_in(folder: Path) -> list[Path]:
    """All but the collected static files, which everybody may read."""
    return [path for path in folder.iterdir() if path.name != "static"]


def modes(folder: Path) -> dict[str, int]:
    files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in private_in(folder)}
    return {".": stat.S_IMODE(folder.stat().st_mode), **files}


def use(site: Site) -> None:
    """Until SQLite has all its files."""
    Agent(site, "lobby", site.printed.partition("KEY=")[2].split()[0]).ask()


PRIVATE = {
    ".": 0o700,
    "ask-bridge.sqlite3": 0o600,
    "ask-bridge.sqlite3-wal": 0o600,
    "ask-bridge.sqlite3-shm": 0o600,
    "secret-key": 0o600,
    "vapid-key": 0o600,
    "serve.lock": 0o600,
}


@pytest.mark.usefixtures("careless_umask")
def test_what_is_new_is_private(place: Path, serve: Serve) -> None:
    site = serve(DATA_DIR=str(place / "data"))
    use(site)
    assert modes(place / "data") == PRIVATE
    assert "Other users" not in site.printed


@pytest.mark.usefixtures("careless_umask")
def test_a_database_elsewhere_is_private_too(place: Path, serve: Serve) -> None:
    elsewhere = place / "bridge.sqlite3"
    use(serve(DATA_DIR=str(place / "data"), DATABASE_URL=f"sqlite:///{elsewhere}"))
    beside = {path.name: stat.S_IMODE(path.stat().st_mode) for path in place.glob("bridge.sqlite3*")}
    assert beside == {f"bridge.sqlite3{suffix}": 0o600 for suffix in ("", "-wal", "-shm")}


def test_what_was_open_is_closed_at_the_next_start_and_said_once(place: Path, serve: Serve) -> None:
    data = place / "data"
    site = serve(DATA_DIR=str(data))
    use(site)
    site.end()  # killed, so that the files beside the database stay
    data.chmod(0o755)
    for path in private_in(data):
        path.chmod(0o644)
    site = serve(DATA_DIR=str(data))
    assert modes(data).items() <= PRIVATE.items()  # SQLite has removed the files beside its own
    [sentence] = [line for line in site.printed.splitlines() if line.startswith("Other users")]
    assert str(data) in sentence
    assert str(data / "ask-bridge.sqlite3") in sentence
    assert site.stop() == (0, "")
    assert "Other users" not in serve(DATA_DIR=str(data)).printed


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


@needs_root
def test_the_user_nobody_reads_neither_database_nor_keys(place: Path, serve: Serve) -> None:
    use(serve(DATA_DIR=str(place / "data")))
    for name in PRIVATE:
        path = place / "data" / name
        command = ["ls", str(path)] if name == "." else ["cat", str(path)]
        assert subprocess.run(command, capture_output=True).returncode == 0
        assert subprocess.run(command, capture_output=True, user="nobody").returncode != 0


def test_a_shared_folder_stays_shared_and_is_warned_of(place: Path, serve: Serve) -> None:
    place.chmod(0o1777)
    site = serve(DATA_DIR=str(place))
    assert stat.S_IMODE(place.stat().st_mode) == 0o1777
    assert {mode for name, mode in modes(place).items() if name != "."} == {0o600}
    code, errors = site.stop()
    assert code == 0
    assert errors.startswith(f"Warning: Other users of this machine can read {place}")
    assert len(errors.splitlines()) == 1


@needs_root
def test_what_belongs_to_another_user_is_warned_of(place: Path) -> None:
    """As that user: root could change everything."""
    from bridge.private_files import make_private

    data = place / "data"
    data.mkdir(mode=0o755)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setuid(65534)
        changed, still_open = make_private([data, place / "not there"])
        os.write(writing, repr((changed, [path.name for path in still_open])).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 1000).decode() == repr(([], ["data"]))
    assert stat.S_IMODE(data.stat().st_mode) == 0o755
    os.close(reading)
    os.close(writing)
