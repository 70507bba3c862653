"""`python manage.py relock_webhooks`: encrypt webhooks again after a change of SECRET_KEY."""

import argparse
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from rooms.notifications import webhooks


class Command(BaseCommand):
    """Can be run at any time, also repeatedly."""

    help = (
        "Encrypt the addresses and secrets of all webhooks with the present SECRET_KEY, so that they can be "
        "read without the old one. The old one has to be in SECRET_KEY_FALLBACKS."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = "Example: python manage.py relock_webhooks"

    def handle(self, **options: Any) -> None:
        renewed, lost = webhooks.relock_all()
        self.stdout.write(f"Webhooks encrypted with the present SECRET_KEY: {renewed}.")
        if lost:
            raise CommandError(
                f"Webhooks that neither SECRET_KEY nor SECRET_KEY_FALLBACKS can read: {lost}. "
                "Remove them and add them anew."
            )
