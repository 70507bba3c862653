"""Show a change of a file, ask, write it."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable

from bridge_client.claude_code import settings_file


def confirm(
    path: str, before: str, after: str, is_agreed: bool, first: Callable[[], None] = lambda: None
) -> bool:
    """Whether the file is as shown now; `first` is done before it is written, and may fail."""
    diff = difflib.unified_diff(
        before.splitlines(), after.splitlines(), f"{path} now", f"{path} then", lineterm=""
    )
    print("\n".join(diff), flush=True)
    if not is_agreed:
        print("Write this? [y/N] ", end="", flush=True)
        is_agreed = sys.stdin.readline().strip().lower() in ("y", "yes")
    if not is_agreed:
        print("Nothing was changed.")
        return False
    first()
    settings_file.write(path, after)
    print(f"Wrote {path}.")
    return True
