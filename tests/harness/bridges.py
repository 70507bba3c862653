"""A running bridge with people and rooms: embedded (SQLite, one process) or scaled out."""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.harness.agents import Agent
from tests.harness.databases import mariadb_and_redis
from tests.harness.people import Person
from tests.harness.prototypes import Population, copy_of_prototype
from tests.harness.sites import Site, clean_environment, free_port, run_manage

# The same in all processes of a test run: they share the accounts.
PASSWORD = os.environ.get("PYTEST_XDIST_TESTRUNUID") or secrets.token_urlsafe(12)
PEOPLE = {"ana": "Ana Costa", "ben": "Ben Okafor", "cleo": "", "dora": "Dora Lind", "eli": "Eli Novak"}
MEMBER = "dora"
# Members of the open rooms: agents can name only members.
NAMED = ["ana", "ben", "cleo"]
# Each test takes a room of its own. No name is the beginning of another one.
OPEN_ROOMS = [f"room-{number:03}" for number in range(160)]
PRIVATE_ROOMS = [f"private-{number:02}" for number in range(10)]

# One script in the environment of the site: a command per room would cost a second each.
POPULATE = """
import json, sys
from django.contrib.auth import get_user_model
from rooms import access, lifecycle
User = get_user_model()
for username, name in json.loads({people!r}).items():
    first, _, last = name.partition(" ")
    User.objects.create_user(username, password={password!r}, first_name=first, last_name=last)
keys = {{}}
for slug in {open_rooms!r} + {private_rooms!r}:
    is_open = slug in {open_rooms!r}
    members = User.objects.filter(username__in={named!r} if is_open else [{member!r}])
    room = lifecycle.create_room(slug, is_open=is_open, members=members)
    keys[slug] = access.create_key(room, label="test")[1]
print(json.dumps(keys))
"""


def populate(environment: dict[str, str], open_rooms: list[str]) -> dict[str, str]:
    """Create people and rooms on a site after its first start; the key of each room."""
    script = POPULATE.format(
        people=json.dumps(PEOPLE),
        password=PASSWORD,
        open_rooms=open_rooms,
        private_rooms=PRIVATE_ROOMS,
        member=MEMBER,
        named=NAMED,
    )
    done = run_manage(environment, "shell", "-v0", "-c", script)
    assert done.returncode == 0, done.stderr
    keys: dict[str, str] = json.loads(done.stdout)
    return keys


class Bridge:
    def __init__(
        self,
        environment: dict[str, str],
        sites: list[Site],
        open_rooms: list[str] = OPEN_ROOMS,
        population: Population | None = None,
    ) -> None:
        """Sites after a first start are populated here; copies of a prototype bring their population."""
        self.environment = environment
        self.sites = sites
        population = population or Population(sites[0].printed, populate(environment, open_rooms))
        self.greeting = population.greeting
        self.keys = population.keys
        self._unused = {True: iter(open_rooms), False: iter(PRIVATE_ROOMS)}
        self._people: dict[tuple[str, Site], Person] = {}

    @property
    def site(self) -> Site:
        """The first process."""
        return self.sites[0]

    @property
    def other_site(self) -> Site:
        """Another process where there is one."""
        return self.sites[-1]

    def start_again(self) -> Site:
        """Restart the first process on its old port, after it was stopped or killed."""
        port = self.sites[0].port
        self.sites[0].end()
        self.sites[0] = Site(self.environment | {"PORT": str(port)})
        return self.sites[0]

    def agent(self, *, is_open: bool = True) -> Agent:
        """An agent in a room that no test has used yet."""
        slug = next(self._unused[is_open])
        return Agent(self.site, slug, self.keys[slug])

    def agent_with(self, agent: Agent, *scopes: str) -> Agent:
        """Another agent in the same room, whose key has these scopes."""
        given = (f"--scope={scope}" for scope in scopes)
        done = run_manage(self.environment, "createkey", agent.room, "--label=scoped", *given)
        assert done.returncode == 0, done.stderr
        return Agent(self.site, agent.room, done.stdout.strip())

    def set_care(self, agent: Agent, care: dict[str, Any]) -> None:
        """Set the care of the agent's room: it holds for each new question."""
        script = (
            "from rooms.contract.care import Care; from rooms.models import Room; "
            f"Room.objects.filter(slug={agent.room!r}).update(care=Care(**{care!r}).model_dump())"
        )
        self._run(script)

    def let_escalate(self, question: Any) -> None:
        """End the time of the people who are asked first; the next sweep of the site sees it."""
        script = (
            "from django.utils import timezone; from rooms.models import Question; "
            f"Question.objects.filter(pk={question['id']!r}).update(escalates_at=timezone.now())"
        )
        self._run(script)

    def _run(self, script: str) -> None:
        done = run_manage(self.environment, "shell", "-v0", "-c", script)
        assert done.returncode == 0, done.stderr

    def person(self, username: str = "ana", site: Site | None = None) -> Person:
        """A signed-in person: all tests share the session."""
        site = site or self.other_site
        if (username, site) not in self._people:
            self._people[username, site] = self.new_person(username, site)
        return self._people[username, site]

    def new_person(self, username: str = "ana", site: Site | None = None) -> Person:
        """A signed-in person with a session of this test's own."""
        return Person(site or self.other_site, username, PASSWORD, PEOPLE[username])


@contextmanager
def running_bridge(kind: str, data: Path, open_rooms: list[str] = OPEN_ROOMS) -> Iterator[Bridge]:
    """`embedded`: one process, SQLite. `scaled` and `mariadb`: two, Redis, and PostgreSQL or MariaDB."""
    with ExitStack() as stack:
        if kind == "mariadb":  # has no templates to copy
            environment, population = clean_environment(data) | stack.enter_context(mariadb_and_redis()), None
        else:
            environment, population = stack.enter_context(copy_of_prototype(kind, open_rooms, data, populate))
        sites: list[Site] = []
        # By the list: a test may replace an entry by a restarted process.
        stack.callback(lambda: [site.end() for site in sites])
        for _ in range(1 if kind == "embedded" else 2):
            sites.append(Site(environment | {"PORT": str(free_port())}))
        yield Bridge(environment, sites, open_rooms, population)
