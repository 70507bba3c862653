"""`python manage.py remove_old`: remove what is older than its room keeps."""

import argparse
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from rooms import lifecycle
from rooms.history import erasing, writer
from rooms.lifecycle import Removed
from rooms.models import Room
from rooms.privacy import retention

# Everything that was settled has to be in the history first, for the figures.
CATCH_UP_SECONDS = 3600


class Command(BaseCommand):
    """Can run beside the site, in any number of processes: each batch is removed by one of them."""

    help = (
        "Remove settled questions, messages and notifications that are older than their room keeps. A site "
        "under ASGI does this by itself; a portal under WSGI runs this every day."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = "Example: python manage.py remove_old --dry-run"
        parser.add_argument("--dry-run", action="store_true", help="print what would be removed")
        parser.add_argument("--room", metavar="SLUG", help="only this room")

    def handle(self, *, dry_run: bool, room: str | None, **options: Any) -> None:
        rooms = lifecycle.rooms_with_limit().order_by("slug")
        if room is not None:
            if not Room.objects.filter(slug=room).exists():
                raise CommandError(f"There is no room {room}.")
            rooms = rooms.filter(slug=room)
        if not dry_run:
            writer.catch_up(CATCH_UP_SECONDS)
        total = Removed()
        for each in rooms:
            removed = _count(each) if dry_run else _remove_all(each)
            total += removed
            if removed:
                days = lifecycle.kept_days(each)
                self.stdout.write(f"{each.slug} (keeps {days} days): {_in_words(removed)}")
        if not dry_run:
            erasing.erase()
        done = "Would be removed" if dry_run else "Removed"
        self.stdout.write(f"{done} in all rooms: {_in_words(total)}")


def _count(room: Room) -> Removed:
    since = lifecycle.kept_since(room)
    return lifecycle.count_old(room, since) if since else Removed()


def _remove_all(room: Room) -> Removed:
    total = Removed()
    while removed := retention.remove_batch(room):
        total += removed
    return total


def _in_words(removed: Removed) -> str:
    return (
        f"questions {removed.questions}, messages {removed.messages}, notifications {removed.notifications}."
    )
