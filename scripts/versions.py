"""Unit tests on the versions of Python and Django that we support; run by `make versions`.

    scripts/versions.py          all of them
    scripts/versions.py newest   only the newest Python with the newest Django, as in CI
    scripts/versions.py 3.12     all of one Python

Each pair has an environment in .venv-versions, with the locked version of everything but Django. The server's
lowest versions are those of .venv and the lock, so `make test` is their test. Of the client, each Python runs
the commands that the tests start; `make test` does it with the oldest and the newest.

A Python that is missing is named and left out, also in CI: no file of this repository can install one.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / ".venv-versions"
# Oldest first.
SERVER = {"3.11": ["5.2"], "3.12": ["5.2", "6.0", "6.1"], "3.13": ["5.2", "6.0", "6.1"]}
CLIENT = ["3.9", "3.10", "3.11", "3.12", "3.13"]
# What the unit tests of both packages import, beside the extra `server`.
TOOLS = [
    "hypothesis",
    "mcp",
    "openapi-spec-validator",
    "pymysql",
    "pytest",
    "pytest-cov",
    "pytest-django",
    "pytest-xdist",
]
UNIT_TESTS = ["-m", "unit and not slow", "--numprocesses=3", "--dist=loadfile", "tests/rooms", "tests/client"]
# Tests that start the client as a process of its own.
CLIENT_TESTS = ["--numprocesses=3", "--dist=loadfile", "tests/client/test_standard_library.py"]
COMMANDS = ("cli", "ask", "poll", "listen", "hook", "retries")
CLIENT_TESTS += [f"tests/client/test_{name}.py" for name in COMMANDS]
PYTEST = ["-m", "pytest", "--quiet", "-p", "no:cacheprovider"]


def main(arguments: list[str]) -> str | None:
    """Which versions failed, if any did."""
    servers = [(python, django) for python, versions in SERVER.items() for django in versions]
    clients = CLIENT
    if arguments == ["newest"]:
        servers, clients = servers[-1:], []
    elif arguments:
        servers = [server for server in servers if server[0] in arguments]
        clients = [python for python in CLIENT if python in arguments]
    failed = [
        *(f"Python {python} with Django {django}" for python, django in servers if not runs(python, django)),
        *(f"the client on Python {python}" for python in clients if not client_runs(python)),
    ]
    return f"Failed: {', '.join(failed)}." if failed else None


def runs(python: str, django: str) -> bool:
    """Whether the unit tests pass; True also without this Python, which is said."""
    if not (interpreter := find(python)):
        return True
    print(f"== unit tests on Python {python} with Django {django}", flush=True)
    environment = ENVIRONMENTS / f"python{python}-django{django}"
    own_python = environment / "bin" / "python"
    uv("venv", "--clear", "--python", interpreter, environment)
    locked = ENVIRONMENTS / "locked.txt"
    locked.write_text("".join(f"{line}\n" for line in locked_versions()))
    wanted = [f"django~={django}.0", *server_requirements(), *TOOLS]
    uv("pip", "install", "--python", own_python, "--constraints", locked, *wanted)
    return passes([own_python, *PYTEST, *UNIT_TESTS])


def client_runs(python: str) -> bool:
    """Whether the commands of the client work on this Python; True also without it, which is said."""
    if not (interpreter := find(python)):
        return True
    print(f"== the client's commands on Python {python}", flush=True)
    return passes(
        [
            "env",
            f"TEST_CLIENT_PYTHON={interpreter}",
            sys.executable,
            *PYTEST,
            "--repeat-failed",
            *CLIENT_TESTS,
        ]
    )


def find(python: str) -> str | None:
    """The interpreter of this version, on the PATH or one of pyenv's."""
    candidates = [
        shutil.which(f"python{python}"),
        *Path.home().glob(f".pyenv/versions/{python}.*/bin/python"),
    ]
    # A shim of pyenv is on the PATH also where the version behind it is not chosen.
    for candidate in filter(None, candidates):
        shown = subprocess.run([candidate, "--version"], capture_output=True, text=True)  # noqa: S603
        if shown.stdout.startswith(f"Python {python}."):
            return str(candidate)
    print(f"Skipped Python {python}: install it (as python{python} on the PATH, or with pyenv).", flush=True)
    return None


def locked_versions() -> list[str]:
    """The lock without Django, and without hashes, which would have to cover Django as well."""
    lines = (ROOT / "requirements" / "dev.txt").read_text().splitlines()
    pinned = [line.removesuffix(" \\") for line in lines if re.match(r"[a-z0-9]", line)]
    return [line for line in pinned if not line.startswith("django==")]


def server_requirements() -> list[str]:
    """The extras of the standalone site, with that for portals, without Django."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    return [
        requirement
        for requirement in [*extras["portal"], *extras["server"], *extras["company"]]
        if not requirement.startswith(("django>", "ask-bridge["))
    ]


def uv(*arguments: object) -> None:
    """Outside of this folder: its pyproject.toml would hold Django to the version of the lock."""
    ENVIRONMENTS.mkdir(exist_ok=True)
    command = [str(ROOT / ".venv" / "bin" / "uv"), "--quiet", *map(str, arguments)]
    subprocess.run(command, check=True, cwd="/")  # noqa: S603 - nothing from outside


def passes(command: list[object]) -> bool:
    return subprocess.run(list(map(str, command)), cwd=ROOT).returncode == 0  # noqa: S603


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
