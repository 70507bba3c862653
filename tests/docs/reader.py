"""Runs the examples of a document in a shell, one after the other, against a new site."""

import re
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.harness.agents import Agent
from tests.harness.people import Person
from tests.harness.sites import Site, clean_environment, run_manage
from tests.harness.timing import eventually

# One example: what to run, what happens meanwhile, what comes back.
EXAMPLE = re.compile(
    r"```sh\n(?P<command>(?:(?!```).)+)```\n\n"
    r"(?:(?P<meanwhile>[^\n#`]*clicks \*(?P<label>[^*]+)\*[^\n]*)\n\n)?"
    r"(?:```(?P<language>json|text)\n(?P<reply>(?:(?!```).)*)```)?",
    re.DOTALL,
)
# Where the documents have their site.
ADDRESS = "http://127.0.0.1:8000"
# What differs from run to run.
ID = re.compile(r"\b([qamx])_[0-9a-z]{27}\b")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
# A background reader takes one of its own when it recalls what was answered before.
REVISION = re.compile(r'("revision": )\d+')
HOST = re.compile(r"http://127\.0\.0\.1:\d+")
# Comes back after whatever the shell has printed before it.
END = "end-of-example"

MAKE_ANA = """
from django.contrib.auth import get_user_model
get_user_model().objects.create_user("ana", password={!r}, first_name="Ana", last_name="Costa")
"""


@dataclass(frozen=True)
class Example:
    command: str
    label: str | None
    language: str | None
    reply: str | None


def examples(document: str) -> list[Example]:
    return [
        Example(found["command"], found["label"], found["language"], found["reply"])
        for found in EXAMPLE.finditer(document)
    ]


def masked(text: str) -> str:
    """The same text whatever the ids, the times, the revisions and the port are."""
    return HOST.sub("BRIDGE", TIME.sub("TIME", ID.sub(r"\1_ID", REVISION.sub(r"\g<1>0", text))))


class Reader:
    """A shell for the commands, and Ana who clicks where the document says so."""

    def __init__(self, site: Site, key: str, ana: Person) -> None:
        self.agent, self.ana = Agent(site, "lobby", key), ana
        self._process = subprocess.Popen(
            ["bash"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"PATH": clean_environment(Path())["PATH"]},
            text=True,
        )
        self._type(f"export BRIDGE=http://127.0.0.1:{site.port} ROOM=lobby KEY={key}")
        self._read()

    def _type(self, command: str) -> None:
        assert self._process.stdin
        here = command.replace(ADDRESS, f"http://127.0.0.1:{self.agent.site.port}")
        self._process.stdin.write(f"{here}\necho; echo {END}\n")
        self._process.stdin.flush()

    def _read(self) -> str:
        assert self._process.stdout
        lines = []
        while (line := self._process.stdout.readline()) != f"{END}\n":
            assert line, "the shell ended"
            lines.append(line)
        return "".join(lines).strip("\n")

    def run(self, example: Example) -> str:
        """What the example prints; the id of a question that it asked is kept as the document says."""
        self._type(example.command)
        if example.label:
            [question] = eventually(
                lambda: [each for each in self.agent.open_questions() if each["agent"]["active"]]
            )
            self.ana.answer(question, example.label)
        printed = self._read()
        if example.language == "json" and (asked := re.match(r'{"id": "(q_\w+)"', printed)):
            self._type(f"export ID={asked[1]}")
            self._read()
        return printed

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextmanager
def new_reader(folder: Path) -> Iterator[Reader]:
    """A reader of a document, with a site after its first start."""
    environment = clean_environment(folder / "data")
    site = Site(environment)
    try:
        password = secrets.token_urlsafe(12)
        done = run_manage(environment, "shell", "-v0", "-c", MAKE_ANA.format(password))
        assert done.returncode == 0, done.stderr
        ana = Person(site, "ana", password, "Ana Costa")
        reader = Reader(site, re.findall(r"abk_\w+", site.printed)[0], ana)
        yield reader
        reader.end()
    finally:
        site.end()
