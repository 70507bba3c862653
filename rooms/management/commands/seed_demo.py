"""`python manage.py seed_demo`: fill a room with sample data, for demos and measurements."""

import argparse
import time
from random import Random
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management import BaseCommand, CommandError, CommandParser

from rooms import lifecycle
from rooms.management import demo
from rooms.models import Question, Room

# Open questions by default: a few, as on an ordinary day.
OPEN_COUNT = 3
# More than a busy team makes in years; for more, run it again.
MOST_ENTRIES = 5_000_000
DAYS = 120
MOST_DAYS = 3650
BAR_CHARACTERS = 30


class Command(BaseCommand):
    """Can be run again: existing data stays, and more is added after it."""

    help = (
        "Add sample questions, answers and messages to a room. The room is created if it does not exist, "
        "open to everyone. Sample data cannot be told from real data: use a separate room."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = "Example: python manage.py seed_demo --room demo --entries 1000"
        parser.add_argument("--room", metavar="SLUG", required=True, help="slug of the room")
        parser.add_argument(
            "--entries",
            metavar="N",
            type=int,
            required=True,
            help="questions and messages to add, together",
        )
        parser.add_argument(
            "--open",
            metavar="N",
            type=int,
            help=f"number of questions among them that stay open, as the newest (default: {OPEN_COUNT})",
        )
        parser.add_argument(
            "--days",
            metavar="N",
            type=int,
            default=DAYS,
            help="days over which they are spread, up to now (default: %(default)s); always after the "
            "existing entries of the room",
        )

    def handle(self, *, room: str, entries: int, open: int | None, days: int, **options: Any) -> None:
        """Checks all arguments before it changes anything."""
        if not 1 <= entries <= MOST_ENTRIES:
            raise CommandError(f"One call adds 1 to {MOST_ENTRIES:,} entries.")
        open_count = min(OPEN_COUNT, entries) if open is None else open
        if not 0 <= open_count <= entries:
            raise CommandError(f"Of {entries:,} entries 0 to {entries:,} can stay open.")
        if not 1 <= days <= MOST_DAYS:
            raise CommandError(f"The past is 1 to {MOST_DAYS} days long.")
        filled = self._room(room)
        progress = Progress(self.stderr, entries)
        stored = 0
        try:
            for stored in demo.fill(filled, entries, open_count, days, Random()):  # noqa: S311 - no secret
                progress.show(stored)
        except KeyboardInterrupt:
            raise CommandError(f"Stopped after {stored:,} entries, which stay.") from None
        finally:
            progress.end()
        demo.refresh_statistics()
        still_open = Question.objects.open().filter(room=filled).count()
        self.stdout.write(
            f"Added {entries:,} entries to room {room}, where {still_open:,} questions are open."
        )

    def _room(self, slug: str) -> Room:
        found = Room.objects.filter(slug=slug).first()
        if found and found.archived_at:
            raise CommandError(f"Room {slug} is archived; restore it in its settings first.")
        if found:
            return found
        try:
            Room(slug=slug, name=slug).clean_fields()
        except ValidationError as problem:
            raise CommandError(
                f"“{slug}” cannot be the slug of a room: "
                "it takes 1 to 60 letters, digits, hyphens and underscores."
            ) from problem
        made = lifecycle.create_room(slug, is_open=True)
        self.stdout.write(f"Created room {slug}, open to everyone.")
        return made


class Progress:
    """A progress bar in a terminal; prints nothing into a log file."""

    def __init__(self, stream: Any, total: int) -> None:
        self._stream, self._total = stream, total
        self._began = time.monotonic()
        self._is_shown = False

    def show(self, done: int) -> None:
        if not self._stream.isatty():
            return
        share = done / self._total
        bar = "#" * round(BAR_CHARACTERS * share)
        left = (time.monotonic() - self._began) * (1 - share) / share
        text = f"[{bar:.<{BAR_CHARACTERS}}] {share:4.0%}, {left:.0f} s left"
        self._stream.write(f"\r{text:<60}", ending="")
        self._stream.flush()
        self._is_shown = True

    def end(self) -> None:
        if self._is_shown:
            self._stream.write("")
