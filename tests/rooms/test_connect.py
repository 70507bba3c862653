"""The Connect page: what it offers to paste is right."""

import hashlib
import re
import subprocess
from html import unescape
from pathlib import Path

from django.test import Client

from rooms.models import Room


def test_the_hash_on_the_page_is_that_of_the_downloaded_file(
    browser: Client, room: Room, tmp_path: Path
) -> None:
    client = browser.get("/ask-bridge.pyz").content
    page = unescape(browser.get("/rooms/ops/connect").content.decode())
    check = re.search(r"<code>(echo .* \| sha256sum -c)</code>", page)
    assert check
    assert hashlib.sha256(client).hexdigest() in check[1]
    downloaded = tmp_path / ".local" / "bin" / "ask-bridge"
    downloaded.parent.mkdir(parents=True)
    for content, code in ((client, 0), (client + b"#", 1)):
        downloaded.write_bytes(content)
        checked = subprocess.run(
            ["sh", "-c", check[1]], env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, capture_output=True
        )
        assert checked.returncode == code
