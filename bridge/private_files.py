"""Permissions of private files: database, keys and data folder are readable for the site's user only.

The database contains sessions, and with `SECRET_KEY` one can forge new ones.
"""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600
# All permissions of the group and of other users.
GROUP_AND_OTHERS = 0o077
# The files of a SQLite database. SQLite creates the later ones with the mode of the first.
SQLITE_SUFFIXES = ("", "-wal", "-shm", "-journal")


def open_private(path: str, flags: int) -> int:
    """Opener for `open(…, opener=open_private)`: a new file is private, regardless of the umask."""
    return os.open(path, flags, FILE_MODE)


def create_private_file(path: Path) -> None:
    """Create an empty file, which SQLite accepts as a new database; leave an existing file alone."""
    with suppress(OSError):  # opening the database reports the problem
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))


def make_private(paths: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Remove all permissions of other users; return what was changed, and what could not be."""
    changed, still_open = [], []
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError:
            continue  # missing, or in a folder that this user cannot enter
        if not mode & GROUP_AND_OTHERS:
            continue
        # A folder with the sticky bit is shared on purpose, like /tmp.
        is_shared = stat.S_ISDIR(mode) and mode & stat.S_ISVTX
        try:
            if is_shared:
                raise PermissionError
            path.chmod(stat.S_IMODE(mode) & ~GROUP_AND_OTHERS)
            changed.append(path)
        except OSError:  # owned by another user, or on a file system without permissions
            still_open.append(path)
    return changed, still_open
