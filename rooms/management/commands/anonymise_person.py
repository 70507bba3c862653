"""`python manage.py anonymise_person`: replace the name of a person everywhere."""

import argparse
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import BaseCommand, CommandError, CommandParser

from rooms.privacy import people


class Command(BaseCommand):
    """Can run beside the site, and again if it was interrupted."""

    help = (
        "Replace the name of a person in answers, votes, messages, history and audit log, and delete their "
        "preferences, devices and memberships. It cannot be undone. What they chose and wrote stays."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = "Example: python manage.py anonymise_person ana --delete-account"
        parser.add_argument("username", help="also of an account that was deleted before")
        parser.add_argument("--delete-account", action="store_true", help="delete the account afterwards")

    def handle(self, *, username: str, delete_account: bool, **options: Any) -> None:
        users: Any = get_user_model()
        try:
            account = users._default_manager.get_by_natural_key(username)
        except users.DoesNotExist:
            account = None  # deleted before
        try:
            report = people.anonymise_username(username)
        except people.UnknownPerson:
            raise CommandError(f"Nothing is stored of a person with the user name {username}.") from None
        self.stdout.write(
            f"Now {report.alias}: questions {report.questions}, messages {report.messages}, "
            f"audit entries {report.entries}."
        )
        for room in report.rooms:
            self.stdout.write(f"The careful questions of {room.slug} name this person: name another one.")
        if delete_account and account:
            account.delete()
            self.stdout.write("The account is deleted.")
