#!/usr/bin/env python3
"""Management commands of the site; `python manage.py serve` starts it."""

import os
import sys


def main() -> None:
    """Run a command; report configuration and database errors in one sentence, without a traceback."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bridge.settings")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
        from django.db import OperationalError
    except ImportError:
        sys.exit("Django is not installed here: start with `make run`, or use .venv/bin/python.")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        if "--traceback" in sys.argv:
            raise
        sys.exit(f"Error: {error}")
    except OperationalError as error:
        if "--traceback" in sys.argv:
            raise
        from bridge.preflight import database_problem

        sys.exit(f"Error: {database_problem() or error}")
    except KeyboardInterrupt:
        sys.exit(130)  # the usual exit code after Ctrl-C


if __name__ == "__main__":
    main()
