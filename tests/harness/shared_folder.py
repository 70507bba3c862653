"""Folder shared by all processes of a test run, for slow set-up: each part is made once, under a lock."""

import atexit
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

# Tells the folder to the worker processes of a test run.
FOLDER_VARIABLE = "TEST_RUN_FOLDER"


def shared_folder() -> Path:
    """The folder of this test run; its first process creates and removes it."""
    if FOLDER_VARIABLE not in os.environ:
        os.environ[FOLDER_VARIABLE] = tempfile.mkdtemp(prefix="ask-bridge-tests-")
        atexit.register(shutil.rmtree, os.environ[FOLDER_VARIABLE], ignore_errors=True)
    return Path(os.environ[FOLDER_VARIABLE])


@contextmanager
def made_once(name: str, make: Callable[[Path], object]) -> Iterator[Path]:
    """The folder of this name as `make` has filled it; locked for other processes inside the block."""
    folder = shared_folder() / name
    made = shared_folder() / f"{name}.made"
    with (shared_folder() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)  # left by a `make` that failed
            folder.mkdir()
            make(folder)
            made.touch()
        yield folder
