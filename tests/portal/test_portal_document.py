"""docs/portal.md alone takes a fresh project to a portal with Ask Bridge in it."""

import re
import secrets
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rooms import checks
from tests.harness.sites import ROOT
from tests.harness.timing import eventually
from tests.portal.machines import Machine
from tests.portal.portals import Portal

DOCUMENT = (ROOT / "docs" / "portal.md").read_text()
PASSWORD = secrets.token_urlsafe(12)


@dataclass(frozen=True)
class Block:
    """A snippet, and the file that the sentence before it says it belongs to."""

    file: str
    language: str
    text: str


def blocks(heading: str) -> list[Block]:
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", DOCUMENT, re.MULTILINE | re.DOTALL)
    assert section, heading
    found = re.findall(r"([^\n]*)\n\n```(\w+)\n(.*?)```", section.group(1), re.DOTALL)
    return [
        Block((re.findall(r"end of `([\w/.]+)`", lead) or [""])[0], language, text)
        for lead, language, text in found
    ]


def commands(heading: str) -> list[str]:
    return [
        line
        for block in blocks(heading)
        if block.language == "sh"
        for line in block.text.strip().splitlines()
    ]


@pytest.fixture(scope="module")
def project(portal_machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`startproject`, and the ten lines."""
    folder = tmp_path_factory.mktemp("project")
    portal_machine.check("django-admin", "startproject", "mysite", str(folder))
    for block in blocks("Install"):
        if block.file:
            file = folder / block.file
            file.write_text(file.read_text() + block.text)
    install, migrate = commands("Install")
    assert install == 'pip install "ask-bridge[portal]" daphne'
    portal_machine.check(*shlex.split(migrate), cwd=folder)
    return folder


def manage(machine: Machine, folder: Path, *arguments: str, **variables: str) -> str:
    return machine.check("python", "manage.py", *arguments, cwd=folder, **variables)


def test_it_is_ten_lines() -> None:
    lines = [line for block in blocks("Install") for line in block.text.splitlines()]
    assert len(list(filter(None, lines))) <= 10


def test_checks_and_migrations_are_clean(portal_machine: Machine, project: Path) -> None:
    manage(portal_machine, project, "check", "--fail-level", "WARNING")
    manage(portal_machine, project, "makemigrations", "--check", "--dry-run")


def test_production_settings_pass_the_checks_for_deployment(portal_machine: Machine, project: Path) -> None:
    [block] = blocks("Production")
    settings = f"from mysite.settings import *\n{block.text}"
    (project / "mysite" / "production.py").write_text(settings)
    manage(
        portal_machine,
        project,
        *("check", "--deploy", "--fail-level", "WARNING", "--settings", "mysite.production"),
        SECRET_KEY=secrets.token_urlsafe(50),
        DATABASE_PASSWORD=PASSWORD,
    )


@dataclass(frozen=True)
class Tried:
    """What the section “Try it” leads to."""

    portal: Portal
    ask: list[str]
    variables: dict[str, str]


@pytest.fixture(scope="module")
def tried(portal_machine: Machine, project: Path) -> Iterator[Tried]:
    *prepare, serve, export, ask = commands("Try it")
    key = ""
    for command in prepare:
        program, *arguments = shlex.split(command)
        # No terminal to type in.
        names = ["--username", "ana", "--email", "ana@example.org"]
        typed = ["--noinput", *names] if "createsuperuser" in arguments else []
        variables = {"DJANGO_SUPERUSER_PASSWORD": PASSWORD}
        key = portal_machine.check(program, *arguments, *typed, cwd=project, **variables).strip()
    server = [str(portal_machine.bin / "python"), *shlex.split(serve)[1:], "PORT", "--noreload"]
    portal = Portal(server, project, portal_machine.environment())
    told = dict(part.split("=", 1) for part in shlex.split(export)[1:])
    told["ASK_BRIDGE_URL"] = told["ASK_BRIDGE_URL"].replace("8000", str(portal.port))
    yield Tried(portal, shlex.split(ask), {**told, "ASK_BRIDGE_KEY": key})
    portal.end()


def test_a_newcomer_asks_answers_and_receives(
    tried: Tried, portal_machine: Machine, agent_machine: Machine
) -> None:
    ana = tried.portal.person("ana", PASSWORD, login_address="/admin/login/")
    program, *arguments = tried.ask
    agent = tried.portal.agent("lobby", tried.variables["ASK_BRIDGE_KEY"])
    with subprocess.Popen(
        [str(agent_machine.bin / program), *arguments],
        env=agent_machine.environment(**tried.variables),
        stdout=subprocess.PIPE,
        text=True,
    ) as asking:
        (question,) = eventually(agent.open_questions)
        eventually(lambda: "Waiting" in ana.get("/ask/rooms/lobby").text)
        ana.answer(question, "PostgreSQL")
        printed, _ = asking.communicate(timeout=30)
    assert (asking.returncode, printed) == (0, "PostgreSQL\n")
    assert "Traceback" not in tried.portal.log.read_text()


def test_strangers_are_sent_to_the_login_that_the_document_names(tried: Tried) -> None:
    reply = tried.portal.request("GET", "/ask/")
    assert (reply.status, reply.headers["Location"]) == (302, "/admin/login/?next=/ask/")


def test_the_doctor_finds_the_running_portal_in_order(
    tried: Tried, portal_machine: Machine, project: Path
) -> None:
    [command] = commands("The doctor")
    program, *arguments = shlex.split(command.replace("8000", str(tried.portal.port)))
    walked = portal_machine.check(program, *arguments, cwd=project)
    assert "✓ Pages are live" in walked
    assert "! " not in walked


def test_the_application_of_a_project_without_one_is_that_of_django(project: Path) -> None:
    [written] = [
        block.text for block in blocks("What your portal has, or lacks") if block.language == "python"
    ]
    there = (project / "mysite" / "asgi.py").read_text().replace("'", '"')
    _, _, without_docstring = there.rpartition('"""')
    assert written.split() == without_docstring.split()


def test_without_an_application_of_its_own_the_project_takes_ours(
    portal_machine: Machine, project: Path
) -> None:
    application = re.search(r"daphne (rooms[\w.]+):application", DOCUMENT)
    assert application
    settings = f'from mysite.settings import *\nASGI_APPLICATION = "{application[1]}.application"\n'
    (project / "mysite" / "without_asgi.py").write_text(settings)
    manage(
        portal_machine,
        project,
        *("check", "--fail-level", "WARNING", "--settings", "mysite.without_asgi"),
    )


def test_checks_are_the_ones_that_there_are() -> None:
    listed = re.findall(r"^\| `(ask_bridge\.\w+)` \|", DOCUMENT, re.MULTILINE)
    source = Path(checks.__file__).read_text()
    assert listed == sorted(set(re.findall(r'id="(ask_bridge\.\w+)"', source)))


@pytest.mark.parametrize("address", sorted(set(re.findall(r"\]\((?!http|#)([^)]+)\)", DOCUMENT))))
def test_every_link_leads_to_a_file(address: str) -> None:
    assert (ROOT / "docs" / address.partition("#")[0]).exists()
