"""Prototypes of sites: the first of a kind is started and populated, which is slow; others are copies."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.harness.databases import drop_database, name_of_database, new_database, postgres_and_redis_urls
from tests.harness.shared_folder import made_once, shared_folder
from tests.harness.sites import QUICK_PASSWORDS, Site, clean_environment


@dataclass(frozen=True)
class Population:
    """What cannot be looked up later: the output of the first start, and the key of each room."""

    greeting: str
    keys: dict[str, str]


# Where a prototype keeps what is not in its data folder.
POPULATION = "population.json"
DATABASE = "database-url"


@contextmanager
def copy_of_prototype(
    kind: str, rooms: list[str], data: Path, populate: Callable[[dict[str, str], list[str]], dict[str, str]]
) -> Iterator[tuple[dict[str, str], Population]]:
    """The environment and population of a site with people and these rooms; no process runs yet."""
    identity = hashlib.sha256(" ".join([kind, *rooms]).encode()).hexdigest()[:16]

    def make(folder: Path) -> None:
        environment = clean_environment(folder / "data") | QUICK_PASSWORDS
        if kind == "scaled":
            environment |= new_database()
            (folder / DATABASE).write_text(environment["DATABASE_URL"])
        site = Site(environment)
        try:
            population = Population(site.printed, populate(environment, rooms))
        finally:
            site.stop()
        (folder / POPULATION).write_text(json.dumps(asdict(population)))

    with ExitStack() as stack:
        environment = clean_environment(data) | QUICK_PASSWORDS
        with made_once(f"site-{identity}", make) as prototype:
            shutil.copytree(prototype / "data", data)
            population = Population(**json.loads((prototype / POPULATION).read_text()))
            if kind == "scaled":
                template = name_of_database((prototype / DATABASE).read_text())
                environment |= stack.enter_context(postgres_and_redis_urls(template))
        yield environment, population


def drop_databases() -> None:
    """Drop the databases of all prototypes of this test run."""
    for database in shared_folder().glob(f"*/{DATABASE}"):
        drop_database(database.read_text())
