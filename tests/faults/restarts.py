"""Site processes that are killed and restarted on the same port and data."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from tests.harness.bridges import Bridge, populate
from tests.harness.prototypes import copy_of_prototype
from tests.harness.sites import QUICK_PASSWORDS, Site, clean_environment, free_port, run_manage


class LoggedSite(Site):
    """A site whose stderr is read all the time: a full pipe would block it after 64 KiB."""

    def __init__(self, environment: dict[str, str]) -> None:
        super().__init__(environment)
        self.complaints: list[str] = []
        self._reader = Thread(target=self._read_complaints, daemon=True)
        self._reader.start()

    def _read_complaints(self) -> None:
        assert self.process.stderr
        self.complaints.extend(line.decode() for line in self.process.stderr)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        super().end()


@dataclass(frozen=True)
class Downtime:
    """From `kill -9` until the next process serves."""

    port: int
    killed_at: float
    ready_at: float


class RestartableBridge(Bridge):
    """A bridge whose processes can be killed and restarted."""

    def kill_and_start_again(self, numbers: list[int]) -> list[Downtime]:
        """Kill these processes at once; returns when they serve again, on their old ports."""
        killed_at = time.monotonic()
        for number in numbers:
            self.sites[number].process.kill()

        def start(number: int) -> Downtime:
            port = self.sites[number].port
            self.sites[number].end()
            self.sites[number] = LoggedSite(self.environment | {"PORT": str(port)})
            return Downtime(port, killed_at, time.monotonic())

        with ThreadPoolExecutor() as pool:
            return list(pool.map(start, numbers))

    def check_audit(self) -> None:
        """Each confirmed change has its audit entry, and each entry its change."""
        checked = run_manage(self.environment, "verify_audit")
        assert checked.returncode == 0, checked.stdout + checked.stderr


@contextmanager
def restartable_bridge(
    kind: str, data: Path, rooms: list[str], settings: dict[str, str] | None = None, **variables: str
) -> Iterator[RestartableBridge]:
    """`embedded` or `scaled` as in `running_bridge`; `variables` may name servers of its own."""
    with ExitStack() as stack:
        population = None
        if variables:
            environment = clean_environment(data) | QUICK_PASSWORDS | variables
        else:
            environment, population = stack.enter_context(copy_of_prototype(kind, rooms, data, populate))
        environment |= settings or {}
        sites: list[Site] = []
        # By the list: its entries are replaced by restarted processes.
        stack.callback(lambda: [site.end() for site in sites])
        for _ in range(2 if kind == "scaled" else 1):
            sites.append(LoggedSite(environment | {"PORT": str(free_port())}))
        yield RestartableBridge(environment, sites, rooms, population)
