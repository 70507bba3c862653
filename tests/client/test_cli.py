"""`ask-bridge` itself: help, version, and errors of usage."""

import pytest

import rooms
from bridge_client import __version__
from bridge_client.cli import COMMANDS
from tests.client.conftest import Command


def test_client_and_server_have_one_version(command: Command) -> None:
    assert __version__ == rooms.__version__
    assert command.run("--version").stdout == f"ask-bridge {__version__}\n"


def test_help_names_every_command_and_all_exit_codes(command: Command) -> None:
    done = command.run("--help")
    assert done.returncode == 0
    for name in COMMANDS:
        assert f" {name} " in done.stdout or f" {name}\n" in done.stdout
    for code in range(7):
        assert f"{code} " in done.stdout.partition("exit codes:")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_an_example(command: Command, name: str) -> None:
    done = command.run(name, "--help")
    assert done.returncode == 0, done.stderr
    assert "example" in done.stdout
    assert "ask-bridge" in done.stdout.partition("example")[2]


def test_no_command_shows_the_help(command: Command) -> None:
    done = command.run()
    assert done.returncode == 2
    assert "commands:" in done.stdout


def test_an_unknown_command_is_reported_in_one_line(command: Command) -> None:
    done = command.run("frobnicate")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "frobnicate" in done.stderr
