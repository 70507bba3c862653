r"""Safe printing of what people and agents wrote: no text can control the terminal.

An escape sequence in a note could clear the screen, write to the clipboard or fake a line of this program;
direction marks could reverse text. On a terminal such characters are printed as escapes, such as `\x1b`.
Programs that read the output get every character unchanged; in JSON both forms mean the same.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from bridge_client.claude_code.answer_text import UNSEEN, escape_invisible

# Before further lines of a text, so that none of them looks like a line of this program.
INDENT = " " * 4


def inert(text: str) -> str:
    """The text with escapes for all characters that could control a terminal; its lines stay lines."""
    return UNSEEN.sub(lambda found: _escaped(found.group()), text)


def _escaped(character: str) -> str:
    if character == "\n":
        return f"\n{INDENT}"
    if character == "\t":
        return character
    return character.encode("unicode_escape").decode()


def for_stdout(text: str) -> str:
    """Unchanged for a program, inert for a terminal."""
    return inert(text) if sys.stdout.isatty() else text


def write(text: str) -> None:
    """Print a line on stdout."""
    print(for_stdout(text), flush=True)


def write_json(data: Any) -> None:
    """Print a line of JSON on stdout."""
    text = json.dumps(data, ensure_ascii=False)
    print(escape_invisible(text) if sys.stdout.isatty() else text, flush=True)


def remark(text: str) -> None:
    """Print a line on stderr, always inert: Claude Code shows the stderr of its hooks to people."""
    print(f"ask-bridge: {inert(text)}", file=sys.stderr)
