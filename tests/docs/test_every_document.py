"""What any document names is there: files, headings, commands, options, variables, texts of pages."""

import argparse
import re
from functools import cache
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from bridge_client.cli import COMMANDS, build_parser
from rooms.conf import DEFAULTS
from tests.docs.test_settings_document import READ_FROM_ENVIRONMENT
from tests.harness.sites import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
# Comes from measurements, which not every copy of this repository has.
MADE_LATER = {ROOT / "docs" / "performance.md"}

document = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def without_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(path: Path) -> set[str]:
    """The addresses of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", without_blocks(path.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


# ---- links -----------------------------------------------------------------------------------------------


@document
def test_every_link_leads_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", without_blocks(path.read_text())):
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if target in MADE_LATER and not target.exists():
            continue
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def test_the_index_has_every_document() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    for path in (ROOT / "docs").glob("*.md"):
        assert path.name == "README.md" or f"]({path.name})" in index, path.name


def test_every_picture_is_shown_somewhere() -> None:
    shown = {name for path in DOCUMENTS for name in re.findall(r"images/([\w-]+\.png)", path.read_text())}
    assert {path.name for path in (ROOT / "docs" / "images").iterdir()} == shown


# ---- commands --------------------------------------------------------------------------------------------


@cache
def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))


@document
def test_every_make_target_exists(path: Path) -> None:
    named = re.findall(r"(?:^|`|[A-Z]=\S* )make ([a-z]+)", path.read_text(), re.MULTILINE)
    assert set(named) <= make_targets()


@cache
def options_of(parser: argparse.ArgumentParser) -> set[str]:
    return {option for action in parser._actions for option in action.option_strings}


@document
def test_every_management_command_and_its_options_exist(path: Path) -> None:
    for name, rest in re.findall(r"manage\.py ([a-z_]+)([^`\n;']*)", path.read_text()):
        assert name in get_commands(), name
        app = get_commands()[name]
        command = load_command_class(app, name) if isinstance(app, str) else app
        parser = command.create_parser("manage.py", name)
        assert set(re.findall(r"(?<!\S)(--[a-z-]+)", rest)) <= options_of(parser), name


@document
def test_every_command_of_the_client_and_its_options_exist(path: Path) -> None:
    # Not the name of a program in an example of MCP, nor of a unit or a folder.
    called = re.findall(r"(?:^|`|\| )ask-bridge ([a-z][a-z-]+)([^`\n#|]*)", path.read_text(), re.MULTILINE)
    for name, rest in called:
        assert name in COMMANDS, name
        parser = build_parser(name)
        [chosen] = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        own = rest.partition(" -- ")[0]
        assert set(re.findall(r"(?<!\S)(--[a-z-]+)", own)) <= options_of(chosen.choices[name]), name


# ---- variables -------------------------------------------------------------------------------------------

# Of shells, make, Django and other programs.
OTHERS = {
    *("BRIDGE", "ID", "KEY", "ROOM", "PYTHON", "SOAK_SECONDS", "VERSIONS", "ASK_BRIDGE"),
    *("MCP_TOOL_TIMEOUT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"),
    *("ASGI_APPLICATION", "LOGIN_URL"),
}


# A portal and a benchmark have variables of their own.
@pytest.mark.parametrize(
    "path",
    [path for path in DOCUMENTS if path.name not in ("portal.md", "performance.md")],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_every_variable_is_one_that_is_read(path: Path) -> None:
    client = set(re.findall(r"ASK_BRIDGE_[A-Z]+", (ROOT / "bridge_client" / "settings.py").read_text()))
    known = READ_FROM_ENVIRONMENT | set(DEFAULTS) | client | OTHERS
    named = re.findall(r"`([A-Z]+(?:_[A-Z]+)+)`|\b([A-Z]+(?:_[A-Z]+)*)=", path.read_text())
    assert {name for groups in named for name in groups if name} - known == set()


# ---- quoted texts ----------------------------------------------------------------------------------------


# Django's own, or made by it from the name of a model.
OF_DJANGO = {"Users", "Memberships"}


@pytest.mark.parametrize(
    "name",
    [
        "administration.md",
        "agents.md",
        "answering.md",
        "history.md",
        "notifications.md",
        "troubleshooting.md",
    ],
)
def test_every_quoted_text_is_on_a_page(name: str) -> None:
    text = (ROOT / "docs" / name).read_text()
    pages = [*(ROOT / "templates").rglob("*.html"), *(ROOT / "rooms/templates").rglob("*.html")]
    shown = "".join(path.read_text() for path in [*pages, *(ROOT / "rooms").rglob("*.py")])
    for phrase in set(re.findall(r"(?<!\*)\*([A-Z][^*\n]+)\*(?!\*)", text)) - OF_DJANGO:
        # Texts with a plural are in blocktranslate.
        assert re.search(rf'("|blocktranslate [^%]*%}}){re.escape(phrase)}', shown), phrase


def test_troubleshooting_quotes_what_the_site_says() -> None:
    text = (ROOT / "docs" / "troubleshooting.md").read_text()
    sources = [ROOT / "Makefile", *(ROOT / "bridge").rglob("*.py"), *(ROOT / "rooms").rglob("*.py")]
    said = "".join(path.read_text() for path in [*sources, *(ROOT / "bridge_client").rglob("*.py")])
    said = re.sub(r'"\n\s+f?"', "", said)  # sentences that go on on the next line
    first_column = re.findall(r"^\| `([^`]+ [^`]+)`", text, re.MULTILINE)
    others = {"database is locked", "too many connections", "Too many open files", "claude -p"}
    for sentence in set(first_column) - others:
        for part in re.split(r" 8000 on 127\.0\.0\.1 | … ?|^Redis at|^PostgreSQL at", sentence):
            assert part.strip() in said, sentence
