"""The one-file client: the same sources give the same bytes, so that its hash identifies it."""

import os
import shutil
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import bridge_client
from bridge_client.archive import archive

PRINTS_IT = "import sys; from bridge_client.archive import archive; sys.stdout.buffer.write(archive())"


def built_in(folder: Path, *, seconds: int, permissions: int, umask: int, seed: str) -> bytes:
    """The archive, built by another process from a copy of the sources."""
    package = shutil.copytree(Path(bridge_client.__file__).parent, folder / "bridge_client")
    for path in package.rglob("*.py"):
        os.utime(path, (seconds, seconds))
        path.chmod(permissions)
    done = subprocess.run(
        [sys.executable, "-c", PRINTS_IT],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PYTHONHASHSEED": seed, "TZ": "Asia/Tokyo" if seed == "1" else "UTC"},
        umask=umask,
        capture_output=True,
        check=True,
    )
    return done.stdout


def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "another" / "deeper").mkdir(parents=True)
    first = built_in(tmp_path / "one", seconds=0, permissions=0o600, umask=0o077, seed="1")
    second = built_in(
        tmp_path / "another" / "deeper", seconds=1_900_000_000, permissions=0o755, umask=0o002, seed="2"
    )
    assert first == second == archive()


def test_the_archive_is_sorted_and_not_compressed() -> None:
    with zipfile.ZipFile(BytesIO(archive())) as file:
        assert {entry.compress_type for entry in file.infolist()} == {zipfile.ZIP_STORED}
        names = file.namelist()
        assert names == sorted(names)
        assert "bridge_client/cli.py" in names
