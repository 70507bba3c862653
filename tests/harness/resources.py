"""What a process of the site holds, as the kernel sees it."""

import os
from pathlib import Path

from tests.harness.sites import Site


def threads(site: Site) -> int:
    return len(list(_proc(site, "task").iterdir()))


def open_files(site: Site) -> list[str]:
    """What each handle is on."""
    found = []
    for descriptor in _proc(site, "fd").iterdir():
        try:
            found.append(str(descriptor.readlink()))
        except FileNotFoundError:
            continue  # closed between the listing and the look
    return found


def sockets(site: Site) -> int:
    return sum(path.startswith("socket:") for path in open_files(site))


def database_handles(site: Site) -> int:
    """On the SQLite file itself; its two companions come with it."""
    return sum(path.endswith("ask-bridge.sqlite3") for path in open_files(site))


def memory_bytes(site: Site) -> int:
    """What is resident."""
    pages = int(_proc(site, "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(site: Site) -> float:
    """Used since its start."""
    # The name, in brackets, may hold blanks.
    fields = _proc(site, "stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _proc(site: Site, name: str) -> Path:
    return Path(f"/proc/{site.process.pid}/{name}")
