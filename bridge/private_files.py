"""Files and folders that only the user of the site may read: database, keys, data folder.

Whoever reads the database has the sessions in it, and whoever reads `SECRET_KEY` can make more of them.
"""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600
# Everything for the group and for all others.
OTHERS = 0o077
# SQLite gives the files beside a database the mode of the database, when it makes them.
BESIDE_SQLITE = ("", "-wal", "-shm", "-journal")


def open_private(path: str, flags: int) -> int:
    """For `open(…, opener=open_private)`: a new file is private, whatever the umask."""
    return os.open(path, flags, FILE_MODE)


def make_private_file(path: Path) -> None:
    """Make an empty file that SQLite takes for a new database; one that is there stays as it is."""
    with suppress(OSError):  # the database itself says what is wrong with its place
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))


def make_private(paths: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Take the rights of other users away; what was changed, and what could not be."""
    changed, still_open = [], []
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError:
            continue  # not there, or not ours to look at
        if not mode & OTHERS:
            continue
        # A folder with the sticky bit is shared on purpose, as /tmp is.
        is_shared = stat.S_ISDIR(mode) and mode & stat.S_ISVTX
        try:
            if is_shared:
                raise PermissionError
            path.chmod(stat.S_IMODE(mode) & ~OTHERS)
            changed.append(path)
        except OSError:  # of another user, or on a file system without rights
            still_open.append(path)
    return changed, still_open
