"""The extra `portal` brings what the app imports and nothing else, and the app runs with only that."""

import re
import secrets
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path

import pytest

from tests.portal.machines import Machine
from tests.portal.portals import Portal
from tests.portal.test_portal_document import commands

PASSWORD = secrets.token_urlsafe(12)
BROUGHT = {"django", "channels", "pydantic", "markdown-it-py", "nh3", "cryptography"}
SETTINGS = """
INSTALLED_APPS = [*INSTALLED_APPS, "ask_bridge"]
LOGIN_URL = "admin:login"
DATABASES["default"]["OPTIONS"] = {"transaction_mode": "IMMEDIATE", "timeout": 20}
"""
URLS = """
from django.urls import include

urlpatterns += [path("ask/", include("rooms.urls"))]
"""
IMPORT_ALL = """
import pkgutil, rooms, sys
for module in pkgutil.walk_packages(rooms.__path__, "rooms."):
    __import__(module.name)
print(len([name for name in sys.modules if name.startswith("rooms.")]))
"""


def manage(machine: Machine, folder: Path, *arguments: str, **variables: str) -> str:
    return machine.check("python", "manage.py", *arguments, cwd=folder, **variables)


@pytest.fixture(scope="module")
def project(bare_machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bare")
    bare_machine.check("django-admin", "startproject", "mysite", str(folder))
    for name, lines in (("settings.py", SETTINGS), ("urls.py", URLS)):
        file = folder / "mysite" / name
        file.write_text(file.read_text() + lines)
    manage(bare_machine, folder, "migrate", "--verbosity", "0")
    return folder


@pytest.fixture(scope="module")
def portal(bare_machine: Machine, project: Path) -> Iterator[Portal]:
    """The portal on Django's own server, which is WSGI."""
    server = [str(bare_machine.python), "manage.py", "runserver", "127.0.0.1:PORT", "--noreload"]
    portal = Portal(server, project, bare_machine.environment())
    yield portal
    portal.end()


def test_it_requires_what_the_app_imports(wheel: Path) -> None:
    [metadata] = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("METADATA")]
    required = message_from_bytes(zipfile.ZipFile(wheel).read(metadata)).get_all("Requires-Dist") or []
    of = {
        extra: {re.split(r"[^\w-]", one)[0] for one in required if re.search(f"extra == .{extra}.", one)}
        for extra in ("portal", "server")
    }
    assert of["portal"] == BROUGHT
    assert of["portal"] < of["server"]


def test_nothing_of_the_site_and_no_driver_is_installed(bare_machine: Machine) -> None:
    script = "from importlib.metadata import distributions as d; print(*(x.name.lower() for x in d()))"
    installed = set(bare_machine.check("python", "-c", script).split())
    assert installed >= BROUGHT
    ours_alone = {
        "django-csp",
        "whitenoise",
        "dj-database-url",
        "psycopg",
        "channels-redis",
        "django-htmx",
        "daphne",
    }
    assert not installed & ours_alone


def test_every_module_can_be_imported(bare_machine: Machine, project: Path) -> None:
    assert int(manage(bare_machine, project, "shell", "-v0", "-c", IMPORT_ALL)) > 150


def test_a_question_is_asked_and_answered(bare_machine: Machine, project: Path, portal: Portal) -> None:
    variables = {"DJANGO_SUPERUSER_PASSWORD": PASSWORD}
    names = ("--username", "ana", "--email", "ana@example.org")
    manage(bare_machine, project, "createsuperuser", "--noinput", *names, **variables)
    manage(bare_machine, project, "createroom", "lobby", "--open")
    agent = portal.agent("lobby", manage(bare_machine, project, "createkey", "lobby", "--label", "a").strip())
    question = agent.ask()
    ana = portal.person("ana", PASSWORD, login_address="/admin/login/")
    ana.answer(question, "SQLite")
    assert agent.read(question["id"])["status"] == "answered"

    # No ASGI server is installed: the page polls, and both ways to look say so.
    warned = bare_machine.run("python", "manage.py", "check", cwd=project)
    assert "ask_bridge.W009" in warned.stderr
    walked = manage(
        bare_machine, project, "ask_bridge_doctor", "--url", f"http://127.0.0.1:{portal.port}/ask/"
    )
    assert "! Pages poll every 5 s" in walked
    assert "✗" not in walked
    assert "Traceback" not in portal.log.read_text()


def test_another_package_rooms_is_refused_in_a_sentence(bare_machine: Machine, project: Path) -> None:
    package = project / "rooms" / "__init__.py"
    package.parent.mkdir()
    package.touch()
    try:
        done = bare_machine.run("python", "manage.py", "check", cwd=project)
    finally:
        package.unlink()
    assert done.returncode == 1
    assert f"Python finds another one in {package.parent}. Rename that one" in done.stderr


def test_uninstalling_leaves_nothing_behind(bare_machine: Machine, project: Path) -> None:
    """The last test of this file."""
    *_, remove_tables, forget_types, uninstall = commands("What your portal has, or lacks")
    bare_machine.check(*remove_tables.split(), cwd=project)
    for name, lines in (("settings.py", SETTINGS), ("urls.py", URLS)):
        file = project / "mysite" / name
        file.write_text(file.read_text().removesuffix(lines))
    bare_machine.check(*forget_types.split(), "--noinput", cwd=project)
    assert uninstall == "pip uninstall ask-bridge"
    manage(bare_machine, project, "check", "--fail-level", "WARNING")
    script = "from django.db import connection; print(*connection.introspection.table_names())"
    assert "ask_bridge" not in manage(bare_machine, project, "shell", "-v0", "-c", script)
