"""`python manage.py createkey`: a key for an agent."""

import argparse
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from rooms import access
from rooms.models import AgentKey, Room


class Command(BaseCommand):
    """Prints the key and nothing else, so that a script can take it."""

    help = "Create an agent key for a room. The key is printed once and stored only as a hash."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = "Example: python manage.py createkey ops --label deploy-bot > ask-bridge.key"
        parser.add_argument("room", metavar="ROOM", help="slug of the room")
        parser.add_argument("--label", metavar="NAME", required=True, help="tells this key from others")

    def handle(self, *, room: str, label: str, **options: Any) -> None:
        """A key that could not work is not made."""
        found = Room.objects.filter(slug=room).first()
        if found is None:
            raise CommandError(f"There is no room “{room}”; make it with: createroom {room}")
        if found.archived_at:
            raise CommandError(f"Room {room} is archived; restore it in the admin first.")
        longest = AgentKey._meta.get_field("label").max_length or 0
        if not 1 <= len(label.strip()) <= longest:
            raise CommandError(f"The label takes 1 to {longest} characters.")
        _, text = access.create_key(found, label=label.strip())
        self.stdout.write(text)
