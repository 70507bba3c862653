"""The files that pages are made of: every one is used, and templates have no tag too long to read."""

import re
from pathlib import Path

import pytest

from scripts import htmx
from tests.harness.sites import ROOT

TEMPLATES = [*ROOT.glob("rooms/templates/**/*.html"), *ROOT.glob("templates/**/*.html")]
FOLDERS = (ROOT / "rooms" / "static", ROOT / "static")
STYLES = sorted(style for folder in FOLDERS for style in folder.rglob("*.css"))
# The service worker has an address of its own: the browser fetches it from there.
SCRIPTS = sorted(script for script in FOLDERS[0].rglob("*.js") if script.name != "service-worker.js")

DJANGO_TAG = r"\{%.*?%\}|\{\{.*?\}\}"
HTML_TAG = re.compile(rf"<[a-z](?:{DJANGO_TAG}|\"(?:{DJANGO_TAG}|[^\"])*\"|[^\"<>])*>")
MAX_TAG = 140


def linked_files() -> set[str]:
    text = "".join(template.read_text() for template in TEMPLATES)
    return set(re.findall(r"\{% static '([^']+\.(?:css|js))' %\}", text))


def static_name(file: Path) -> str:
    """As templates write it."""
    return next(file.relative_to(folder).as_posix() for folder in FOLDERS if file.is_relative_to(folder))


@pytest.mark.parametrize("file", [*STYLES, *SCRIPTS], ids=lambda file: file.name)
def test_every_style_sheet_and_script_is_linked_by_a_template(file: Path) -> None:
    assert static_name(file) in linked_files()


def test_every_linked_file_exists() -> None:
    assert linked_files() <= {static_name(file) for file in [*STYLES, *SCRIPTS]}


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.name)
def test_a_style_sheet_says_what_it_is_for_and_loads_no_other(style: Path) -> None:
    text = style.read_text()
    assert text.startswith("/* ")
    # Imports would be loaded one after the other.
    assert "@import" not in text
    assert "!important" not in text


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_begins_with_what_breaks_without_it(script: Path) -> None:
    header = re.match(r"(// .*\n)+", script.read_text())
    assert header
    assert "Without it" in " ".join(header.group().replace("//", "").split())


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_a_long_tag_has_one_attribute_per_line(template: Path) -> None:
    long_tags = [
        tag
        for line in template.read_text().splitlines()
        for tag in HTML_TAG.findall(line)
        if len(tag) > MAX_TAG
    ]
    assert long_tags == []


def test_htmx_is_that_of_the_installed_package() -> None:
    assert htmx.SCRIPT.read_text() == htmx.content()
