"""The files of a release in dist/: wheel, sdist, SBOM and checksums; run by `make dist`.

The same commit gives the same bytes with the same hatchling: all timestamps are those of the commit.
Nothing is uploaded.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
# CycloneDX from the lock of the server; the client has no dependency.
SBOM = [
    "tool",
    "run",
    "--from",
    "cyclonedx-bom==7.5.0",
    "cyclonedx-py",
    "requirements",
    "--output-reproducible",
]
SBOM += ["--output-format", "JSON", "--pyproject", "pyproject.toml", "requirements/server.txt"]


def main() -> str | None:
    """What is wrong, if anything is."""
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    from bridge_client.version import __version__ as version

    if problem := changelog_problem(version):
        return problem
    if run("git", "status", "--porcelain"):
        print("Warning: there are changes that are not committed; a release is built from a commit.")
    shutil.rmtree(DIST, ignore_errors=True)
    committed_at = run("git", "log", "-1", "--format=%ct").strip()
    run("uv", "build", "--quiet", "--out-dir", str(DIST), SOURCE_DATE_EPOCH=committed_at)
    (DIST / ".gitignore").unlink(missing_ok=True)  # of uv
    sbom = json.loads(run("uv", *SBOM))
    # The standard wants a UUID; one that follows from the content is the same each time.
    sbom["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(sbom, sort_keys=True))}"
    sbom["metadata"]["component"]["version"] = version
    (DIST / f"ask_bridge-{version}.cdx.json").write_text(json.dumps(sbom, indent=2) + "\n")
    files = sorted(DIST.iterdir())
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (DIST / "SHA256SUMS").write_text("".join(sums))
    print("".join(sums), end="")
    return None


def changelog_problem(version: str) -> str | None:
    """A release is described: its section has the version of the package."""
    if f"\n## [{version}] - " in (ROOT / "CHANGELOG.md").read_text():
        return None
    return f"CHANGELOG.md has no section “## [{version}] - date” for the version of bridge_client/version.py."


def run(*command: str, **environment: str) -> str:
    """The output of a command, which has to succeed."""
    done = subprocess.run(  # noqa: S603 - nothing from outside
        command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | environment
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
