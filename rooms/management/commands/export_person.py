"""`python manage.py export_person`: all that is stored about a person, as JSON."""

import argparse
import json
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import BaseCommand, CommandError, CommandParser

from rooms.privacy.own_data import Encoder, data_of


class Command(BaseCommand):
    """Prints to stdout, for a file or another program."""

    help = "Print what is stored about a person as JSON: answers, votes, messages, settings, audit entries."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = "Example: python manage.py export_person ana > ana.json"
        parser.add_argument("username")

    def handle(self, *, username: str, **options: Any) -> None:
        users: Any = get_user_model()
        try:
            user = users._default_manager.get_by_natural_key(username)
        except users.DoesNotExist:
            raise CommandError(f"There is no account {username}.") from None
        self.stdout.write(json.dumps(data_of(user), cls=Encoder, ensure_ascii=False, indent=2))
