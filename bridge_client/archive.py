"""The package as a single runnable file, `ask-bridge.pyz`, for machines that cannot install packages."""

from __future__ import annotations

import io
import os
import zipfile

SHEBANG = b"#!/usr/bin/env python3\n"
# zipapp's own `main=` would drop the return value of the function: every command would exit with 0.
MAIN = "import sys\n\nfrom bridge_client.cli import main\n\nsys.exit(main())\n"


# Constant, so that the bytes are the same on every machine: the earliest time that a zip file can hold, the
# system and the permissions of a plain file, and no compression, which differs between versions of zlib.
TIME = (1980, 1, 1, 0, 0, 0)
UNIX = 3
PERMISSIONS = 0o100644


def archive() -> bytes:
    """The bytes of `ask-bridge.pyz`: the same sources give the same bytes."""
    package = os.path.dirname(os.path.abspath(__file__))
    sources = {"__main__.py": MAIN.encode()}
    for folder, _, names in os.walk(package):
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                with open(path, "rb") as source:
                    inside = os.path.relpath(path, os.path.dirname(package)).replace(os.sep, "/")
                    sources[inside] = source.read()
    written = io.BytesIO()
    written.write(SHEBANG)
    with zipfile.ZipFile(written, "a", zipfile.ZIP_STORED) as file:
        for name, text in sorted(sources.items()):
            entry = zipfile.ZipInfo(name, TIME)
            entry.create_system = UNIX
            entry.external_attr = PERMISSIONS << 16
            file.writestr(entry, text)
    return written.getvalue()
