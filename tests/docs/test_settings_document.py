"""docs/settings.md lists exactly the settings that there are, with their defaults."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

from bridge_client import settings as client
from rooms.conf import DEFAULTS
from tests.harness.sites import ROOT, clean_environment

DOCUMENT = (ROOT / "docs" / "settings.md").read_text()
READ_FROM_ENVIRONMENT = set(
    re.findall(r'(?:env|service_urls)\.\w+\("([A-Z_]+)"', (ROOT / "bridge/settings.py").read_text())
)

SHOW = """
import json
from bridge import settings
shown = {name: repr(value) for name, value in vars(settings).items() if name.isupper()}
print(json.dumps(shown))
"""


def rows(heading: str) -> dict[str, str]:
    """The first two columns of the table below a heading."""
    section = DOCUMENT.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", section, re.MULTILINE))


def test_document_lists_exactly_the_variables_of_the_site() -> None:
    assert set(rows("The standalone site")) == READ_FROM_ENVIRONMENT


def test_defaults_of_the_site_are_the_documented_ones(tmp_path: Path) -> None:
    defaults = {
        name: default.strip("`")
        for name, default in rows("The standalone site").items()
        if default.startswith("`") and name != "DATA_DIR"
    }
    assert len(defaults) > 4
    environment = clean_environment(tmp_path / "data")
    del environment["PORT"]
    shown = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", SHOW], cwd=ROOT, env=given, capture_output=True, check=True
            ).stdout
        )
        for given in (environment, environment | defaults)
    ]
    assert shown[0] == shown[1]


def test_document_lists_exactly_the_settings_of_a_portal() -> None:
    told = rows("`ASK_BRIDGE` in a portal")
    assert {name: ast.literal_eval(default.strip("`")) for name, default in told.items()} == DEFAULTS


def test_document_lists_exactly_the_variables_of_the_client() -> None:
    sources = [path.read_text() for path in (ROOT / "bridge_client").rglob("*.py")]
    read = {name for source in sources for name in re.findall(r'"(ASK_BRIDGE_[A-Z_]+)"', source)}
    told = rows("On an agent's machine")
    assert set(told) == read
    for name, variable in client.VARIABLES.items():
        assert told[variable] == f"`--{name}`"
