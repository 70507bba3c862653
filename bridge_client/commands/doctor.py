"""`ask-bridge doctor`: prints what is wrong with the setup, and how to fix it."""

from __future__ import annotations

import argparse

from bridge_client.commands import exits, flags, terminal_text
from bridge_client.commands.doctor_checks import as_json, run_checks
from bridge_client.errors import SettingsError

EPILOG = """Prints one line for each check. Exits with 0 if all are fine, else with 1.

example:
  ask-bridge doctor --room ops
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("--json", action="store_true", help="print the checks as JSON")
    flags.add_connection(parser)


def run(args: argparse.Namespace) -> int:
    try:
        settings = flags.load_settings(args)
    except SettingsError as error:
        print(f"FIX settings  {error}")
        return exits.FAILED
    checks = []
    for check in run_checks(settings):
        checks.append(check)
        if not args.json:
            terminal_text.write(str(check))
    if args.json:
        print(as_json(checks))
    return exits.OK if all(check.is_ok for check in checks) else exits.FAILED
