"""The context of a question: where the agent works and what it wrote last.

Best effort: parts that cannot be found are left out.
"""

from __future__ import annotations

import json
import os
from typing import Any

# A paragraph or two: people do not read more on a phone.
TEXT_LENGTH = 2_000
# The server's limits for these two.
CWD_LENGTH = 1_000
BRANCH_LENGTH = 250
# The last text is near the end; a single tool result before it can be a hundred kilobytes.
TAIL_BYTES = 512 * 1024
# HEAD and `.git` files are one line; a larger file is something else.
GIT_FILE_BYTES = 4_096


def gather(cwd: str = "", transcript_path: str = "") -> dict[str, str]:
    """`cwd`, `branch` and `text`, without those that are empty."""
    found = {
        "cwd": cwd[:CWD_LENGTH],
        "branch": git_branch(cwd)[:BRANCH_LENGTH] if cwd else "",
        "text": last_assistant_text(transcript_path) if transcript_path else "",
    }
    return {name: text for name, text in found.items() if text}


def git_branch(folder: str) -> str:
    """The branch that is checked out, a short commit if there is none, empty outside of git."""
    try:
        head = _read_line(os.path.join(_git_folder(folder), "HEAD"))
    except (OSError, ValueError):
        return ""
    if head.startswith("ref:"):
        name = head[len("ref:") :].strip()
        return name[len("refs/heads/") :] if name.startswith("refs/heads/") else name
    return head[:12]


def _git_folder(folder: str) -> str:
    """The folder of HEAD: `.git` here or above, or the folder that a worktree's `.git` file names."""
    folder = os.path.abspath(folder)
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            raise FileNotFoundError
        folder = parent
    dot_git = os.path.join(folder, ".git")
    if os.path.isdir(dot_git):
        return dot_git
    line = _read_line(dot_git)
    if not line.startswith("gitdir:"):
        raise ValueError("not a worktree")
    return os.path.join(folder, line[len("gitdir:") :].strip())


def _read_line(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(GIT_FILE_BYTES).partition("\n")[0].strip()


def last_assistant_text(transcript_path: str) -> str:
    """The last text of the agent in a Claude Code transcript; only its end if it is long."""
    for line in reversed(_tail(transcript_path).split(b"\n")):
        text = shortened(_assistant_text(line))
        if text:
            return text
    return ""


def shortened(text: str) -> str:
    """The text as the server accepts it, without NUL and lone surrogates; only its end if it is long."""
    # JSON allows lone surrogates, UTF-8 does not.
    text = text.replace("\x00", "").encode("utf-8", "replace").decode().strip()
    return text if len(text) <= TEXT_LENGTH else "…" + text[-(TEXT_LENGTH - 1) :]


def _tail(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            return file.read(TAIL_BYTES)
    except (OSError, ValueError):
        return b""


def _assistant_text(line: bytes) -> str:
    if b'"assistant"' not in line:
        return ""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return ""  # cut off at the start of the tail, or still being written
    # A subagent writes to the agent, not to people.
    if not isinstance(entry, dict) or entry.get("type") != "assistant" or entry.get("isSidechain"):
        return ""
    message: Any = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    texts = [
        block["text"]
        for block in (content if isinstance(content, list) else [])
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    ]
    return "\n\n".join(texts)
