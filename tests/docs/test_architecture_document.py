"""What docs/architecture.md names is there: files, folders, symbols, and the layers of `pyproject.toml`."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.harness.sites import ROOT

DOCUMENT = ROOT / "docs" / "architecture.md"
TEXT = DOCUMENT.read_text()
# In backticks: `rooms/urls.py`, `rooms/live/`, `CHANGELOG.md`, `rooms/live/hub.py::Hub.close`, and `::GROUP`
# for a name in the file before it. Addresses such as `/api/` begin with a slash, so they are no paths.
IN_BACKTICKS = re.compile(r"`((?:[\w.-]+(?:/[\w.-]+)*/?)?(?:::[\w.]+)?)`")
FILE_SUFFIXES = (".py", ".md", ".html", ".js", ".css", ".toml", ".txt")


def names_in(text: str) -> list[str]:
    """The paths and `path::symbol` pairs of a text."""
    names: list[str] = []
    for name in IN_BACKTICKS.findall(text):
        if name.startswith("::"):
            names.append(names[-1].partition("::")[0] + name)
        elif "/" in name or "::" in name or name.endswith(FILE_SUFFIXES):
            names.append(name)
    return names


def is_there(name: str) -> bool:
    path, _, symbol = name.partition("::")
    found = ROOT / path
    if not (found.is_dir() if path.endswith("/") else found.is_file()):
        return False
    return not symbol or (found.suffix == ".py" and symbol in symbols_of(found))


@cache
def symbols_of(path: Path) -> set[str]:
    """The functions, classes and constants of a module, and those of its classes as `Class.name`."""
    return set(_symbols(ast.parse(path.read_text()).body))


def _symbols(body: list[ast.stmt], prefix: str = "") -> list[str]:
    found: list[str] = []
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.append(prefix + node.name)
        if isinstance(node, ast.ClassDef):
            found += _symbols(node.body, f"{prefix}{node.name}.")
        if isinstance(node, ast.Assign):
            found += [prefix + target.id for target in node.targets if isinstance(target, ast.Name)]
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.append(prefix + node.target.id)
    return found


def section(heading: str) -> str:
    """The text below a heading, up to the next one of the same or a higher level."""
    level = len(heading.partition(" ")[0])
    found = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^#{{1,{level}}} |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found, heading
    return found[1]


# ---- paths -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(names_in(TEXT))))
def test_every_path_and_symbol_exists(name: str) -> None:
    assert is_there(name)


@pytest.mark.parametrize(
    "name",
    [
        "rooms/live/switchboard.py",
        "rooms/live/switchboard/",
        "bnech/",
        "ARCHITECTURE.md",
        "rooms/urls.py/",
        "rooms/live",
        "rooms/live/hub.py::Switchboard",
        "rooms/live/hub.py::Hub.switch",
        "rooms/live/switchboard.py::Hub",
        "CHANGELOG.md::Hub",
    ],
)
def test_a_made_up_path_or_symbol_is_noticed(name: str) -> None:
    assert names_in(f"It is in `{name}`, not in `/api/` or `Retry-After`.") == [name]
    assert not is_there(name)


def test_a_symbol_alone_belongs_to_the_file_before_it() -> None:
    names = names_in("`rooms/live/hub.py::Hub` sends its hints to one `::GROUP`, and to no `::Switchboard`.")
    assert [is_there(name) for name in names] == [True, True, False]


def test_the_map_has_every_part_of_the_app() -> None:
    named = names_in(section("## Map"))
    for path in (ROOT / "rooms").iterdir():
        if path.is_dir() and {child.name for child in path.iterdir()} - {"__pycache__"}:
            assert f"rooms/{path.name}/" in named or path.name == "__pycache__"
        elif path.suffix == ".py" and path.name != "__init__.py":
            assert f"rooms/{path.name}" in named


def test_the_map_has_every_folder_of_the_client_and_the_tests() -> None:
    named = names_in(section("## Map"))
    for folder in ("bridge_client", "tests"):
        for path in (ROOT / folder).iterdir():
            if path.is_dir() and any(path.glob("*.py")):
                assert f"{folder}/{path.name}/" in named


# ---- layers and the way of an answer ---------------------------------------------------------------------


def test_the_layers_are_those_that_the_linter_checks() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    checked = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    blocks = re.findall(r"^```text\n(.*?)^```$", section("### Layers"), re.MULTILINE | re.DOTALL)
    assert [block.splitlines() for block in blocks] == checked


def test_a_click_reaches_the_agent_through_at_most_nine_files() -> None:
    steps = re.findall(r"^\d\. `([^`:]+)::", section("## From ask to delivery"), re.MULTILINE)
    assert len(steps) == len(set(steps)) <= 9
    assert steps[0].startswith("rooms/pages/")
    assert steps[-1] == "rooms/serializers.py"
