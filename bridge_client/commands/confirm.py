"""Confirmation of a change to a file: shows the diff, asks, writes."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable

from bridge_client.claude_code import settings_file


def confirm(
    path: str, before: str, after: str, is_agreed: bool, first: Callable[[], None] = lambda: None
) -> bool:
    """Whether the file was written; `first` runs before it, and may fail."""
    diff = difflib.unified_diff(
        before.splitlines(), after.splitlines(), f"{path} (now)", f"{path} (new)", lineterm=""
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
