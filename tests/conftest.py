"""Fixtures of all tests that start site processes, and the order of the folders."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness import prototypes
from tests.harness.databases import postgres_and_redis_urls
from tests.harness.shared_folder import made_once, shared_folder
from tests.harness.sites import Site, clean_environment, run_manage

pytest_plugins = [
    "tests.harness.repeats",
    "tests.harness.kinds",
    "tests.harness.bridge_fixture",
    "tests.harness.chromium",
]


def pytest_configure() -> None:
    """Create the shared folder before the workers start, so that all use the same one."""
    shared_folder()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Drop the databases of prototypes after the last worker."""
    if not hasattr(config, "workerinput"):
        prototypes.drop_databases()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collect the slow tests only by name: `make soak`."""
    is_named = any("soak" in argument for argument in config.args)
    return True if collection_path.name == "soak" and not is_named else None


# Minutes per file with few tests, most of it waiting.
SLOW_FOLDERS = ("faults", "browser", "live", "security", "portal")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the slow folders and files, so that no worker is left alone with one at the end."""
    folders = {folder: place for place, folder in enumerate(SLOW_FOLDERS)}
    slow_files = {item.path for item in items if item.get_closest_marker("slow")}

    def place(item: pytest.Item) -> tuple[int, bool]:
        return folders.get(item.path.parent.name, len(folders)), item.path not in slow_files

    items.sort(key=place)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment without the developer's settings, and with a free port."""
    return clean_environment(tmp_path / "data")


@pytest.fixture
def migrated(environment: dict[str, str]) -> None:
    """A migrated database, for tests that need no first start."""

    def migrate(folder: Path) -> None:
        done = run_manage(clean_environment(folder / "data"), "migrate")
        assert done.returncode == 0, done.stderr

    with made_once("migrated", migrate) as prototype:
        shutil.copytree(prototype / "data", environment["DATA_DIR"])


@pytest.fixture
def serve(environment: dict[str, str]) -> Iterator[Callable[..., Site]]:
    """Start sites; all are ended after the test."""
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
