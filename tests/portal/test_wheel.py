"""What is in the wheel, what is not, and that a machine of an agent needs nothing else."""

import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from bridge_client import __version__
from tests.harness.sites import ROOT
from tests.portal.machines import Machine

SHIPPED = ("ask_bridge", "rooms", "bridge_client")


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def test_it_holds_every_file_of_the_app_and_of_the_client(names: set[str]) -> None:
    there = {
        str(path.relative_to(ROOT))
        for package in SHIPPED
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    kinds = {Path(name).suffix for name in there}
    assert {".py", ".html", ".txt", ".css", ".js", ".svg", ".png", ".mo", ".typed"} <= kinds
    assert there <= names


def test_it_holds_nothing_else(names: set[str]) -> None:
    folders = {name.partition("/")[0] for name in names}
    assert folders == {*SHIPPED, f"ask_bridge-{__version__}.dist-info"}
    assert not [name for name in names if Path(name).name.startswith("test_") or name.endswith(".pyc")]


def test_all_packages_say_that_they_are_typed(names: set[str]) -> None:
    assert {f"{package}/py.typed" for package in SHIPPED} <= names


def test_every_language_is_compiled(names: set[str]) -> None:
    texts = {name for name in names if name.endswith(".po")}
    assert texts
    assert {name.removesuffix("po") + "mo" for name in texts} <= names


def test_only_extras_bring_dependencies(wheel: Path) -> None:
    [metadata] = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("METADATA")]
    said = message_from_bytes(zipfile.ZipFile(wheel).read(metadata))
    assert said["Version"] == __version__
    required = said.get_all("Requires-Dist") or []
    assert any(one.startswith("django<") or one.startswith("django>") for one in required)
    assert [one for one in required if "extra ==" not in one] == []


def test_on_a_machine_of_an_agent_there_is_the_command_and_no_dependency(agent_machine: Machine) -> None:
    assert agent_machine.check("ask-bridge", "--version") == f"ask-bridge {__version__}\n"
    installed = agent_machine.check(
        "python", "-c", "from importlib.metadata import distributions as d; print(*(x.name for x in d()))"
    )
    assert installed.split() == ["ask-bridge"]
    done = agent_machine.run("ask-bridge", "ask", "Go on?", "--option", "Yes", "--option", "No")
    assert "ASK_BRIDGE_URL" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_version_is_said_in_one_place() -> None:
    sources = [*ROOT.glob("rooms/**/*.py"), *ROOT.glob("bridge_client/**/*.py"), ROOT / "pyproject.toml"]
    places = [path for path in sources if f'"{__version__}"' in path.read_text()]
    assert places == [ROOT / "bridge_client" / "version.py"]
