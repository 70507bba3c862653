"""Fixtures for everything that needs a running site."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import prototypes
from tests.once import made_once, shared_folder
from tests.processes import Site, clean_environment, postgres_and_redis_urls, run_manage

pytest_plugins = ["tests.repeats", "tests.kinds"]


def pytest_configure() -> None:
    """Before there are workers, so that they all hear of the same folder."""
    shared_folder()


def pytest_unconfigure(config: pytest.Config) -> None:
    """After the last worker."""
    if not hasattr(config, "workerinput"):
        prototypes.drop_databases()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What needs long is run only by name: `make soak`."""
    is_named = any("soak" in argument for argument in config.args)
    return True if collection_path.name == "soak" and not is_named else None


# Mostly waiting for something: minutes a file, with hardly a test in it.
SLOW_FOLDERS = ("faults", "browser", "live", "security", "portal")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that no worker is left alone with it in the end."""
    slow = {folder: place for place, folder in enumerate(SLOW_FOLDERS)}
    items.sort(key=lambda item: slow.get(item.path.parent.name, len(slow)))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Nothing of the developer's own settings, and a free port."""
    return clean_environment(tmp_path / "data")


@pytest.fixture
def migrated(environment: dict[str, str]) -> None:
    """Of a first start nothing is left but the greeting: for tests of what comes after it."""

    def migrate(folder: Path) -> None:
        done = run_manage(clean_environment(folder / "data"), "migrate")
        assert done.returncode == 0, done.stderr

    with made_once("migrated", migrate) as prototype:
        shutil.copytree(prototype / "data", environment["DATA_DIR"])


@pytest.fixture
def serve(environment: dict[str, str]) -> Iterator[Callable[..., Site]]:
    """Start sites; all of them are gone after the test."""
    sites: list[Site] = []

    def start(*arguments: str, **variables: str) -> Site:
        site = Site(environment | variables, *arguments)
        sites.append(site)
        return site

    yield start
    for site in sites:
        site.end()


@pytest.fixture
def manage(environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command to its end."""

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return run_manage(environment | variables, *arguments)

    return run


@pytest.fixture
def postgres_and_redis() -> Iterator[dict[str, str]]:
    """An empty PostgreSQL database and Redis, as the two variables that name them."""
    with postgres_and_redis_urls() as urls:
        yield urls
