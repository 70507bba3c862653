"""Clean machines: virtual environments with nothing but one requirement."""

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.harness.sites import ROOT

INSTALL_SECONDS = 300  # a slow mirror; usually half a minute


class Machine:
    """A virtual environment, and the programs in it."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.python = self.bin / "python"

    def run(
        self, program: str, *arguments: str, cwd: Path | None = None, **variables: str
    ) -> "subprocess.CompletedProcess[str]":
        """Run one of its programs to the end, without the environment of the test run."""
        return subprocess.run(
            [str(self.bin / program), *arguments],
            cwd=cwd or self.bin,
            env=self.environment(**variables),
            capture_output=True,
            text=True,
            timeout=60,
        )

    def environment(self, **variables: str) -> dict[str, str]:
        return {"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(self.bin), **variables}

    def check(self, program: str, *arguments: str, cwd: Path | None = None, **variables: str) -> str:
        """What a program prints that has to succeed."""
        done = self.run(program, *arguments, cwd=cwd, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def build_wheel(folder: Path) -> Path:
    """The wheel that would go to the package index."""
    _pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    [wheel] = folder.glob("*.whl")
    return wheel


def new_machine(folder: Path, *requirements: str) -> Machine:
    """A machine with these requirements installed, in the versions of requirements/dev.txt."""
    venv.create(folder)
    machine = Machine(folder)
    locked = (ROOT / "requirements" / "dev.txt").read_text()
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(re.findall(r"^(\S+==[^\\\n]+)", locked, re.MULTILINE)))
    _pip("--python", str(machine.python), "install", "--constraint", str(constraints), *requirements)
    return machine


def _pip(*arguments: str) -> None:
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, *arguments], capture_output=True, text=True, timeout=INSTALL_SECONDS)
    if done.returncode != 0 and os.environ.get("CI") != "true" and "No matching distribution" in done.stderr:
        pytest.skip("needs a package index")
    assert done.returncode == 0, done.stderr
