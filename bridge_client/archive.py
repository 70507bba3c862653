"""This package as one file that Python runs: for machines that cannot install packages."""

from __future__ import annotations

import io
import os
import zipfile

SHEBANG = b"#!/usr/bin/env python3\n"
# zipapp's own `main=` would call the function and forget what it returned: every command would exit with 0.
MAIN = "import sys\n\nfrom bridge_client.cli import main\n\nsys.exit(main())\n"


def archive() -> bytes:
    """The bytes of `ask-bridge.pyz`."""
    package = os.path.dirname(os.path.abspath(__file__))
    written = io.BytesIO()
    written.write(SHEBANG)
    with zipfile.ZipFile(written, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("__main__.py", MAIN)
        for folder, _, names in sorted(os.walk(package)):
            for name in sorted(names):
                if name.endswith(".py"):
                    path = os.path.join(folder, name)
                    file.write(path, os.path.relpath(path, os.path.dirname(package)))
    return written.getvalue()
