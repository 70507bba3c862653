"""Threads, files, memory and CPU time of a site process, read from /proc."""

import os
from pathlib import Path

from tests.harness.sites import Site


def threads(site: Site) -> int:
    return len(list(_proc(site, "task").iterdir()))


def open_files(site: Site) -> list[str]:
    """The target of each file descriptor."""
    found = []
    for descriptor in _proc(site, "fd").iterdir():
        try:
            found.append(str(descriptor.readlink()))
        except FileNotFoundError:
            continue  # closed after the listing
    return found


def sockets(site: Site) -> int:
    return sum(path.startswith("socket:") for path in open_files(site))


def database_handles(site: Site) -> int:
    """Open handles of the SQLite file, without its -wal and -shm files."""
    return sum(path.endswith("ask-bridge.sqlite3") for path in open_files(site))


def memory_bytes(site: Site) -> int:
    """Resident memory."""
    pages = int(_proc(site, "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(site: Site) -> float:
    """CPU time since its start."""
    # The name of the program, in brackets, may contain spaces.
    fields = _proc(site, "stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _proc(site: Site, name: str) -> Path:
    return Path(f"/proc/{site.process.pid}/{name}")
