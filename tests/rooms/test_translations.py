"""The catalogues: everything that people read is collected, translated and compiled."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import django
import pytest
from django.template.base import Lexer, TokenType

from tests.harness.sites import ROOT, clean_environment
from tests.harness.translations import CATALOGUES, SAME_EVERYWHERE, Texts, compiled

TEMPLATES = [*(ROOT / "rooms/templates").rglob("*.html"), *(ROOT / "templates").rglob("*.html")]
# Those that we have written: the messages of htmx are for its developers.
SCRIPTS = [script for script in (ROOT / "rooms/static/ask_bridge").rglob("*.js") if script.name != "htmx.js"]

# Whatever stands between these tags is translated, or is never read.
CLOSED_BY = {
    "blocktranslate": "endblocktranslate",
    "comment": "endcomment",
    "block body_attributes": "endblock",
}


@pytest.fixture(scope="module")
def gettext_tools() -> None:
    """The programs xgettext and msgfmt of this machine."""
    if not (shutil.which("xgettext") and shutil.which("msgfmt")):
        if os.environ.get("CI") == "true":
            pytest.fail("gettext is missing: scripts/test-services should have installed it")
        pytest.skip("needs gettext: install the package gettext")


def compile_catalogue(path: Path, to: Path) -> str:
    """Compile as `make messages` does; what msgfmt has to say about it."""
    done = subprocess.run(
        ["msgfmt", "--check-format", "--statistics", "-o", to, path],
        capture_output=True,
        text=True,
        env=os.environ | {"LC_ALL": "C"},
    )
    return done.stderr


@pytest.mark.parametrize("catalogue", CATALOGUES, ids=("rooms", "site"))
def test_everything_is_translated_and_compiled(gettext_tools: None, catalogue: Path, tmp_path: Path) -> None:
    said = compile_catalogue(catalogue, tmp_path / "django.mo")
    # It would name what is fuzzy or untranslated, and every wrong placeholder.
    assert re.fullmatch(r"\d+ translated messages\.\n", said), said
    assert compiled(catalogue) == compiled(tmp_path / "django.mo"), "run make messages"


def test_every_text_is_collected(gettext_tools: None, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    for name in ("bridge", "bridge_client", "locale", "rooms", "templates"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("static", "__pycache__"))
    shutil.copy(ROOT / "manage.py", copy)
    (copy / "static").mkdir()
    subprocess.run(
        [sys.executable, "manage.py", "makemessages", "--locale", "de", "--no-obsolete"],
        cwd=copy,
        env=clean_environment(tmp_path / "data"),
        check=True,
        capture_output=True,
    )
    for catalogue in CATALOGUES:
        said = compile_catalogue(copy / catalogue.relative_to(ROOT), tmp_path / "django.mo")
        assert re.fullmatch(r"\d+ translated messages\.\n", said), f"run make messages: {said}"
        assert compiled(catalogue).keys() == compiled(tmp_path / "django.mo").keys(), "run make messages"


@pytest.mark.parametrize("catalogue", CATALOGUES, ids=("rooms", "site"))
def test_placeholders_and_markup_are_the_same(catalogue: Path) -> None:
    for original, german in compiled(catalogue).items():
        text = original[0] if isinstance(original, tuple) else str(original)
        if text:
            assert parts(german) == parts(text), text


def parts(text: str) -> Counter[str]:
    return Counter(re.findall(r"%\(\w+\)s|\{\w+\}|<[^>]+>", text))


def test_no_word_of_django_changes() -> None:
    """All apps share one catalogue: a portal's admin must not read otherwise because we are there."""
    ours = {key: text for path in CATALOGUES for key, text in compiled(path).items()}
    for path in Path(django.__file__).parent.rglob("locale/de/LC_MESSAGES/django.mo"):
        theirs = compiled(path)
        shared = ours.keys() & theirs.keys() - {""}
        assert {key: ours[key] for key in shared} == {key: theirs[key] for key in shared}


# ---- nothing is said outside the catalogues --------------------------------------------------------------


def untranslated_part(template: str) -> str:
    """The template without its tags, and without what stands in a translated block."""
    html, until = "", None
    for token in Lexer(template).tokenize():
        if token.token_type == TokenType.BLOCK:
            opened = (end for start, end in CLOSED_BY.items() if token.contents.startswith(start))
            until = next(opened, None if token.contents == until else until)
        elif token.token_type == TokenType.TEXT and until is None:
            html += token.contents
    return html


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_says_nothing_untranslated(path: Path) -> None:
    words = {
        word
        for text in Texts(untranslated_part(path.read_text())).found
        for part in text.split("·")
        if re.search("[A-Za-z]", word := part.strip())
    }
    assert words <= SAME_EVERYWHERE


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_what_holds_until_or_since_a_time_names_the_time_of_day(path: Path) -> None:
    """times.js says other times as "in 5 min." and "5 min. ago"."""
    said = re.sub(r'{% translate "(\w+)"[^%]*%}', r"\1", path.read_text())
    assert not re.findall(r"\b(?:since|until) <time (?!class)", said, re.IGNORECASE)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_says_nothing_of_its_own(path: Path) -> None:
    code = re.sub(r"(?m)(^|\s)//.*$", "", path.read_text())
    assert re.findall(r"""["'`][A-Z][\w’']* [^"'`]*["'`]""", code) == []
