"""The command line of `claude` as a child process in stream-json mode."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from bridge_client.errors import SettingsError

PRINT = ("-p", "--print")
# The flags with which the child asks over stdio instead of in a terminal; other values do not work.
REQUIRED = {
    "--input-format": "stream-json",
    "--output-format": "stream-json",
    "--permission-prompt-tool": "stdio",
}


@dataclass(frozen=True)
class ClaudeCommand:
    """The arguments, and the prompt apart: in stream-json mode `claude` ignores a prompt in its arguments."""

    arguments: list[str]
    prompt: str


def build(program: str, given: Sequence[str]) -> ClaudeCommand:
    """The user's own arguments without the prompt, with the missing flags added."""
    found = shutil.which(program)
    if found is None:
        raise SettingsError(f"Cannot find {program}: install Claude Code, or name its path with --claude")
    rest, prompt = _without_prompt(given)
    missing = [] if any(flag in rest for flag in PRINT) else ["--print"]
    if "--verbose" not in rest:
        missing.append("--verbose")
    for flag, value in REQUIRED.items():
        own = _value_of(flag, rest)
        if own is None:
            missing += [flag, value]
        elif own != value:
            raise SettingsError(f"ask-bridge needs {flag} {value}: leave {flag} {own} out")
    return ClaudeCommand([found, *missing, *rest], prompt)


def _without_prompt(given: Sequence[str]) -> tuple[list[str], str]:
    """Take out the prompt: the first argument, the one right after -p, or the last one if no flag is before
    it. Anywhere else it could be the value of a flag."""
    last = len(given) - 1
    for index, text in enumerate(given):
        is_last = index == last and not given[index - 1].startswith("-")
        is_prompt = index == 0 or given[index - 1] in PRINT or is_last
        if is_prompt and text and not text.startswith("-"):
            return [*given[:index], *given[index + 1 :]], text
    return list(given), ""


def _value_of(flag: str, arguments: Sequence[str]) -> str | None:
    for index, text in enumerate(arguments):
        if text == flag:
            return arguments[index + 1] if index + 1 < len(arguments) else ""
        if text.startswith(f"{flag}="):
            return text[len(flag) + 1 :]
    return None
