"""`ask-bridge uninstall claude-code`: removes exactly what `install` added."""

from __future__ import annotations

import argparse
import os

from bridge_client.claude_code import settings_file
from bridge_client.commands import exits
from bridge_client.commands.confirm import confirm
from bridge_client.commands.install import add_scope

EPILOG = """example:
  ask-bridge uninstall claude-code --user --yes
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("client", choices=["claude-code"], help="what to clean up")
    add_scope(parser)


def run(args: argparse.Namespace) -> int:
    path = settings_file.path_for(args.scope, os.environ)
    before, current = settings_file.read(path)
    changed = settings_file.without_hooks(current)
    if changed == current:
        print(f"{path} has no hooks of Ask Bridge.")
        return exits.OK
    return (
        exits.OK if confirm(path, before, settings_file.as_text(changed, before), args.yes) else exits.FAILED
    )
