"""What takes long is made once in a test run: its processes share it, and wait for whoever makes it."""

import atexit
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

# Names the folder to the processes that a test run starts for its tests.
FOLDER_VARIABLE = "TEST_RUN_FOLDER"


def shared_folder() -> Path:
    """Of all processes of this test run; the first one makes it, and removes it in the end."""
    if FOLDER_VARIABLE not in os.environ:
        os.environ[FOLDER_VARIABLE] = tempfile.mkdtemp(prefix="ask-bridge-tests-")
        atexit.register(shutil.rmtree, os.environ[FOLDER_VARIABLE], ignore_errors=True)
    return Path(os.environ[FOLDER_VARIABLE])


@contextmanager
def made_once(name: str, make: Callable[[Path], object]) -> Iterator[Path]:
    """The folder of this name as `make` has filled it, kept from all other processes meanwhile."""
    folder = shared_folder() / name
    made = shared_folder() / f"{name}.made"
    with (shared_folder() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of one that did not get to the end
            folder.mkdir()
            make(folder)
            made.touch()
        yield folder
