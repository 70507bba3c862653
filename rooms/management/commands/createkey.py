"""`python manage.py createkey`: create an agent key."""

import argparse
from datetime import timedelta
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from rooms import access
from rooms.contract.scopes import DEFAULT_SCOPES, Scope
from rooms.db import timezone
from rooms.models import AgentKey, Room

# Ten years; for longer, create a key without an end.
MOST_DAYS = 3650


class Command(BaseCommand):
    """Prints only the key, so that a script can read it."""

    help = "Create an agent key for a room. The key is printed once and stored only as a hash."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = "Example: python manage.py createkey ops --label deploy-bot > ask-bridge.key"
        parser.add_argument("room", metavar="ROOM", help="slug of the room")
        parser.add_argument("--label", metavar="NAME", required=True, help="name of the agent or its machine")
        parser.add_argument(
            "--expires-in-days",
            metavar="N",
            type=int,
            help="number of days it works; by default until it is revoked",
        )
        parser.add_argument(
            "--scope",
            dest="scopes",
            action="append",
            choices=Scope.values,
            help="what it may do: " + "; ".join(map(str, Scope.labels)) + ". Give it once for each scope; "
            f"by default {' and '.join(DEFAULT_SCOPES)}",
        )

    def handle(
        self,
        *,
        room: str,
        label: str,
        expires_in_days: int | None,
        scopes: list[str] | None,
        **options: Any,
    ) -> None:
        """Refuses arguments that would make a key that cannot work."""
        found = Room.objects.filter(slug=room).first()
        if found is None:
            raise CommandError(f"There is no room “{room}”; make it with: createroom {room}")
        if found.archived_at:
            raise CommandError(f"Room {room} is archived; restore it in its settings first.")
        longest = AgentKey._meta.get_field("label").max_length or 0
        if not 1 <= len(label.strip()) <= longest:
            raise CommandError(f"The label takes 1 to {longest} characters.")
        expires_at = None
        if expires_in_days is not None:
            if not 1 <= expires_in_days <= MOST_DAYS:
                raise CommandError(f"A key expires in 1 to {MOST_DAYS} days.")
            expires_at = timezone.now() + timedelta(days=expires_in_days)
        _, text = access.create_key(
            found, label=label.strip(), expires_at=expires_at, scopes=scopes or DEFAULT_SCOPES
        )
        self.stdout.write(text)
