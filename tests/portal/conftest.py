"""The built wheel, two machines that it is installed on, and the Chromium of the tests of pages."""

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.conftest import chromium, how_to_launch
from tests.portal.machines import Machine, build_wheel, new_machine

__all__ = ["chromium", "how_to_launch"]


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of all processes of this test run: what takes half a minute is made once."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if base.name.startswith("popen-") else base


@pytest.fixture(scope="session")
def made_once(shared_folder: Path) -> Callable[[str, Callable[[Path], object]], Path]:
    def make(name: str, make_it: Callable[[Path], object]) -> Path:
        folder = shared_folder / name
        with (shared_folder / f"{name}.lock").open("a+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.seek(0)
            if not lock.read():
                make_it(folder)
                lock.write("made")
        return folder

    return make


@pytest.fixture(scope="session")
def wheel(made_once: Callable[..., Path]) -> Path:
    [wheel] = made_once("wheel", build_wheel).glob("*.whl")
    return wheel


@pytest.fixture(scope="session")
def agent_machine(made_once: Callable[..., Path], wheel: Path) -> Machine:
    """Where somebody typed `pip install ask-bridge`."""
    return Machine(made_once("agent-machine", lambda folder: new_machine(folder, str(wheel))))


@pytest.fixture(scope="session")
def portal_machine(made_once: Callable[..., Path], wheel: Path) -> Machine:
    """Where somebody typed `pip install "ask-bridge[server]"`."""
    return Machine(made_once("portal-machine", lambda folder: new_machine(folder, f"{wheel}[server]")))
