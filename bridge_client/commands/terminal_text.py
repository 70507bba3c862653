r"""Printing what people and agents wrote: on a terminal it is shown, and never steers the terminal.

An escape sequence in a note could clear the screen, write to the clipboard or forge a line of ours; marks of
direction could reverse what is read. On a terminal such characters are spelled out, as `\x1b`. Programs that
read our output get every character as it is; JSON says the same either way.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from bridge_client.claude_code.answer_text import UNSEEN, spelled_out

# The further lines of a text, so that none of them looks like a line of ours.
INDENT = " " * 4


def inert(text: str) -> str:
    """The text with every character spelled out that could steer a terminal; its lines stay lines."""
    return UNSEEN.sub(lambda found: _spelled(found.group()), text)


def _spelled(character: str) -> str:
    if character == "\n":
        return f"\n{INDENT}"
    if character == "\t":
        return character
    return character.encode("unicode_escape").decode()


def for_stdout(text: str) -> str:
    """As it is for a program, inert for a terminal."""
    return inert(text) if sys.stdout.isatty() else text


def write(text: str) -> None:
    """A line on stdout."""
    print(for_stdout(text), flush=True)


def write_json(data: Any) -> None:
    """A line of JSON on stdout."""
    text = json.dumps(data, ensure_ascii=False)
    print(spelled_out(text) if sys.stdout.isatty() else text, flush=True)


def remark(text: str) -> None:
    """A line on stderr, which is for people wherever it goes: Claude Code shows that of its hooks."""
    print(f"ask-bridge: {inert(text)}", file=sys.stderr)
