"""The command line of the child process `claude`."""

import sys
from pathlib import Path

import pytest

from bridge_client import SettingsError
from bridge_client.claude_code import command_line

FAKE = Path(__file__).with_name("fake_claude.py")


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """The program that is started in place of Claude Code."""
    program = tmp_path / "claude"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} "$@"\n')
    program.chmod(0o755)
    return program


ADDED = [
    *("--verbose", "--input-format", "stream-json"),
    *("--output-format", "stream-json", "--permission-prompt-tool", "stdio"),
]


@pytest.mark.parametrize(
    ("given", "arguments", "prompt"),
    [
        ([], ["--print", *ADDED], ""),
        (["-p", "Go"], [*ADDED, "-p"], "Go"),
        (["--print", "Go", "--model", "opus"], [*ADDED, "--print", "--model", "opus"], "Go"),
        (["Go", "--model", "opus"], ["--print", *ADDED, "--model", "opus"], "Go"),
        (["-p", "--model", "opus"], [*ADDED, "-p", "--model", "opus"], ""),
        (["-p", *ADDED], ["-p", *ADDED], ""),
        (
            ["-p", "--output-format=stream-json"],
            ["--verbose", *ADDED[1:3], *ADDED[5:], "-p", "--output-format=stream-json"],
            "",
        ),
    ],
)
def test_required_flags_are_added_and_the_prompt_is_taken_out(
    claude: Path, given: list[str], arguments: list[str], prompt: str
) -> None:
    built = command_line.build(str(claude), given)
    assert built.arguments == [str(claude), *arguments]
    assert built.prompt == prompt


def test_another_format_is_refused(claude: Path) -> None:
    with pytest.raises(SettingsError, match="leave --output-format json out"):
        command_line.build(str(claude), ["-p", "Go", "--output-format", "json"])
