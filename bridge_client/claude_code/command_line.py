"""The command line of `claude` as a child that speaks stream-json with us."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from bridge_client.errors import SettingsError

PRINT = ("-p", "--print")
# What the child needs to ask us instead of a terminal; its own words, of which none may differ.
REQUIRED = {
    "--input-format": "stream-json",
    "--output-format": "stream-json",
    "--permission-prompt-tool": "stdio",
}


@dataclass(frozen=True)
class ClaudeCommand:
    """What to run, and what to say to it: with stream-json it overlooks a prompt among its arguments."""

    arguments: list[str]
    prompt: str


def build(program: str, given: Sequence[str]) -> ClaudeCommand:
    """The user's own arguments, the prompt taken out and whatever is missing put in."""
    found = shutil.which(program)
    if found is None:
        raise SettingsError(
            f"There is no {program} here: install Claude Code, or say where it is with --claude"
        )
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
    """The prompt is where it can be nothing else: at the very beginning, right after -p, or at the very end
    after something that is no flag."""
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
