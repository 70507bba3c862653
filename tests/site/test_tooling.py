"""The tools of developers agree with each other: Makefile, workflows, documents, supported versions."""

import re
import runpy
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge_client import __version__

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
VERSIONS = runpy.run_path(str(ROOT / "scripts" / "versions.py"))


@pytest.mark.parametrize(
    "path",
    [
        *(
            "CONTRIBUTING.md",
            "docs/releasing.md",
            ".pre-commit-config.yaml",
            ".github/pull_request_template.md",
        ),
        *(str(path.relative_to(ROOT)) for path in (ROOT / ".github" / "workflows").iterdir()),
    ],
)
def test_every_make_command_that_is_named_exists(path: str) -> None:
    text = (ROOT / path).read_text()
    named = set(re.findall(r"(?:`|run: |entry: )make ([a-z]+)", text))
    assert named
    assert named <= TARGETS


def test_workflows_and_hooks_are_yaml() -> None:
    for path in [*ROOT.glob(".github/**/*.yml"), ROOT / ".pre-commit-config.yaml"]:
        assert isinstance(yaml.safe_load(path.read_text()), dict), path


def test_supported_versions_are_those_that_are_tested() -> None:
    claimed = [classifier.rpartition(" :: ")[2] for classifier in PROJECT["classifiers"]]
    tested = {*VERSIONS["SERVER"], *VERSIONS["CLIENT"]} | {
        django for versions in VERSIONS["SERVER"].values() for django in versions
    }
    assert {version for version in claimed if re.fullmatch(r"\d+\.\d+", version)} == tested
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "versions.yml").read_text())
    assert workflow["jobs"]["versions"]["strategy"]["matrix"]["python"] == VERSIONS["CLIENT"]


def test_the_newest_section_of_the_changelog_is_this_version() -> None:
    sections = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert sections[:2] == ["Unreleased", __version__]


def test_contributing_fits_one_screen() -> None:
    assert len((ROOT / "CONTRIBUTING.md").read_text().splitlines()) <= 55


@pytest.mark.parametrize(
    "variables",
    [
        {"PRODUCTION": "1", "SECRET_KEY": "x" * 40, "ALLOWED_HOSTS": "ask.example.org"},
        {"PRODUCTION": "0"},  # with a data folder that is not the one of `make dev`
    ],
)
def test_debug_pages_are_refused_outside_of_make_dev(
    manage: Callable[..., "subprocess.CompletedProcess[str]"], variables: dict[str, str]
) -> None:
    done = manage("check", DJANGO_SETTINGS_MODULE="bridge.dev_settings", **variables)
    assert done.returncode != 0
    assert "make dev" in done.stderr


def test_every_test_has_one_kind(request: pytest.FixtureRequest) -> None:
    kinds = {"unit", "process", "browser"}
    items: list[Any] = request.session.items
    assert all(len(kinds & {mark.name for mark in item.iter_markers()}) == 1 for item in items)
