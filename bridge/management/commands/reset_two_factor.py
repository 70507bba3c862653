"""Command `python manage.py reset_two_factor USER`: for a person who has lost both app and recovery codes."""

import argparse
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import BaseCommand, CommandError, CommandParser

from bridge.models import Authenticator


class Command(BaseCommand):
    """Removes the second factor of a user."""

    help = (
        "Remove the authenticator app and the recovery codes of a user, who can then sign in without them. "
        "Make sure first that it is this person who asks."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = "Example: python manage.py reset_two_factor ana"
        parser.add_argument("user", metavar="USER", help="user name")

    def handle(self, *, user: str, **options: Any) -> None:
        model = get_user_model()
        if not model._default_manager.filter(**{model.USERNAME_FIELD: user}).exists():
            raise CommandError(f"There is no user “{user}”.")
        removed, _ = Authenticator.objects.filter(**{f"user__{model.USERNAME_FIELD}": user}).delete()
        self.stdout.write(f"Two-factor sign-in of {user} is off." if removed else f"{user} had none.")
