"""Command `python manage.py signin_link USER`: print a link that signs a user in, once."""

import argparse
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import BaseCommand, CommandError, CommandParser

from bridge.signin_link import LIFETIME_HOURS, create_link


class Command(BaseCommand):
    """Prints only the link, so that a script can read it."""

    help = (
        "Print a link that signs a user in without a password. It works once, for "
        f"{LIFETIME_HOURS} hours, and is stored only as a hash. "
        "Send it only to that user: it opens their account."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = "Example: python manage.py signin_link admin"
        parser.add_argument("user", metavar="USER", help="user name")
        parser.add_argument(
            "--production",
            action="store_true",
            help="make the link although PRODUCTION=1 is set, where people should use their passwords",
        )

    def handle(self, *, user: str, production: bool, **options: Any) -> None:
        """Refuses what would make a link that cannot work."""
        if settings.PRODUCTION and not production:
            raise CommandError("This site has PRODUCTION=1: add --production to make a link all the same.")
        model = get_user_model()
        found = model._default_manager.filter(**{model.USERNAME_FIELD: user}).first()
        if found is None or not found.is_active:
            raise CommandError(f"There is no active user “{user}”.")
        self.stdout.write(f"{settings.ORIGIN}{create_link(found)}")
