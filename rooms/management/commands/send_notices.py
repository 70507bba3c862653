"""`python manage.py send_notices`: send due notifications, for sites without an ASGI process."""

import argparse
import time
from typing import Any

from django.core.management import BaseCommand, CommandParser
from django.db import DatabaseError, close_old_connections

from rooms.notifications import outbox, planner

# The same interval as in an ASGI process.
PAUSE_SECONDS = 2


class Command(BaseCommand):
    """Can run in several processes and beside the site: each notice is sent by one of them."""

    help = (
        "Send the push notifications, mails and webhooks that are due. A site under ASGI does this by "
        "itself; a portal under WSGI runs this every minute, or once with --forever."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = "Example: python manage.py send_notices --forever"
        parser.add_argument(
            "--forever", action="store_true", help=f"look again every {PAUSE_SECONDS} seconds until stopped"
        )

    def handle(self, *, forever: bool, **options: Any) -> None:
        outbox.forget_old()
        while True:
            try:
                planner.read()
                sent = outbox.send_due()
            except DatabaseError as error:
                if not forever:
                    raise
                self.stderr.write(f"The database does not reply; looking again ({error})")
                sent = 0
            if sent or not forever:
                self.stdout.write(f"Notifications tried: {sent}.")
            if not forever:
                return
            time.sleep(PAUSE_SECONDS)
            close_old_connections()
