"""The backup and restore commands of docs/deployment.md, run as they stand there, on a site under load."""

import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Event

import pytest

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.databases import postgres_and_redis_urls
from tests.harness.people import Person
from tests.harness.sites import ROOT, Site, clean_environment
from tests.harness.timing import eventually

DOCUMENT = (ROOT / "docs" / "deployment.md").read_text()
ROOMS = [f"room-{number}" for number in range(4)]
# Generated at the first start: one signs logins and agent keys, push services know the other.
KEYS = {"secret-key", "vapid-key"}
# A backup begins and ends long before such agents have asked the 600 times that each may in a minute.
PAUSE_SECONDS = 0.02


def run_documented(title: str, environment: dict[str, str], backup: Path) -> None:
    """The commands below that line of the document."""
    [commands] = re.findall(rf"^{title}.*?\n```sh\n(.*?)```", DOCUMENT, re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        ["sh", "-eu", "-c", commands],
        cwd=ROOT,
        env=environment | {"BACKUP": str(backup)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


class Writers:
    """Agents that ask and a person who answers, all the time; they write down what was confirmed."""

    def __init__(self, bridge: Bridge) -> None:
        self.asked: list[str] = []
        self.answered: list[str] = []
        self.agents = [bridge.agent() for _ in ROOMS]
        self._enough = Event()
        self._pool = ThreadPoolExecutor(len(ROOMS))
        asking, answering = self.agents[1:], self.agents[0]
        self._jobs = [self._pool.submit(self._ask, agent) for agent in asking]
        self._jobs.append(self._pool.submit(self._answer, answering, bridge.person()))

    def _ask(self, agent: Agent) -> None:
        while not self._enough.wait(PAUSE_SECONDS):
            self.asked.append(agent.ask()["id"])

    def _answer(self, agent: Agent, person: Person) -> None:
        while not self._enough.is_set():
            question = agent.ask()
            person.answer(question, "SQLite")
            self.answered.append(question["id"])

    def stop(self) -> None:
        """Fails if anything that they sent was refused."""
        self._enough.set()
        for job in self._jobs:
            job.result()
        self._pool.shutdown()


def statuses(site: Site, agents: list[Agent]) -> dict[str, str]:
    """Every question that these agents find on that site."""
    found: dict[str, str] = {}
    for agent in agents:
        cursor = ""
        while cursor is not None:
            path = f"{agent.path}/questions?limit=200{f'&after={cursor}' if cursor else ''}"
            page = Agent(site, agent.room, agent.key).call("GET", path).json()
            found |= {question["id"]: question["status"] for question in page["questions"]}
            cursor = page["next"]
    return found


@contextmanager
def backed_up_under_load(kind: str, environment: dict[str, str], backup: Path) -> Iterator[Writers]:
    """A site that was killed some time after the backup; the writers know what it had confirmed before."""
    backup.mkdir()
    with ExitStack() as stack:
        site = Site(environment)
        stack.callback(site.end)
        writers = Writers(Bridge(environment, [site], ROOMS))
        stack.callback(writers.stop)
        eventually(lambda: len(writers.asked) > 100 and len(writers.answered) > 5, seconds=60)
        confirmed = list(writers.asked), list(writers.answered)
        run_documented(f"{kind}, back up", environment, backup)
        assert len(writers.asked) > len(confirmed[0]), "the load went on meanwhile"
        writers.stop()
        site.end()
        writers.asked, writers.answered = confirmed
        yield writers


def same_key(name: str, data: Path, restored: Path) -> bool:
    return (data / name).read_text() == (restored / name).read_text()


def assert_all_is_there(environment: dict[str, str], writers: Writers) -> None:
    site = Site(environment)
    try:
        assert "Password" not in site.printed
        found = statuses(site, writers.agents)
        assert set(writers.asked) <= found.keys()
        assert {found[question_id] for question_id in writers.answered} == {"answered"}
        agent = Agent(site, ROOMS[0], writers.agents[0].key)
        with agent.waiting(agent.ask()["id"]):  # and it goes on as a site
            eventually(agent.open_questions)
    finally:
        site.end()


@pytest.mark.parametrize("over_old_data", [False, True], ids=["fresh folder", "over what a crash left"])
def test_a_restored_sqlite_file_has_all_that_was_confirmed_before_the_backup(
    tmp_path: Path, over_old_data: bool
) -> None:
    environment = clean_environment(tmp_path / "data")
    backup = tmp_path / "backup"
    with backed_up_under_load("SQLite", environment, backup) as writers:
        assert {path.name for path in backup.iterdir()} == {"ask-bridge.sqlite3", *KEYS}
        assert {path.stat().st_mode & 0o777 for path in backup.iterdir()} == {0o600}, "for its owner alone"
        if over_old_data:
            assert (tmp_path / "data" / "ask-bridge.sqlite3-wal").stat().st_size > 0
            shutil.copytree(tmp_path / "data", tmp_path / "restored")
        else:
            (tmp_path / "restored").mkdir()
        environment["DATA_DIR"] = str(tmp_path / "restored")
        run_documented("SQLite, restore", environment, backup)
        assert all(same_key(name, tmp_path / "data", tmp_path / "restored") for name in KEYS)
        with closing(sqlite3.connect(tmp_path / "restored" / "ask-bridge.sqlite3")) as restored:
            assert restored.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert_all_is_there(environment, writers)


@pytest.mark.skipif(
    not shutil.which("pg_dump") and os.environ.get("CI") != "true", reason="needs PostgreSQL's own programs"
)
def test_a_restored_postgres_dump_has_all_that_was_confirmed_before_the_backup(tmp_path: Path) -> None:
    with postgres_and_redis_urls() as urls, postgres_and_redis_urls() as fresh:
        secret = {"SECRET_KEY": "k" * 60}
        environment = clean_environment(tmp_path / "data") | urls | secret
        with backed_up_under_load("PostgreSQL", environment, tmp_path / "backup") as writers:
            restored_into = clean_environment(tmp_path / "restored") | fresh | secret
            (tmp_path / "restored").mkdir()
            run_documented("PostgreSQL, restore", restored_into, tmp_path / "backup")
            assert same_key("vapid-key", tmp_path / "data", tmp_path / "restored")
            assert_all_is_there(restored_into, writers)
