"""Version guard: a process settles only by rules that it knows.

Mixed versions share a database for a moment in each upgrade, and for longer by mistake. What a newer
version has stored is left alone by an older process, which says so: in its log, at `/readyz`, and with 503
to people and agents.
"""

import logging

from rooms.contract.care import has_unknown_options
from rooms.db.schema import schema
from rooms.lifecycle.exceptions import NeedsNewerVersion
from rooms.models import Question, Room

logger = logging.getLogger(__name__)

# Logged once in each process, however many people click.
_told: set[str] = set()


def check_understood(question: Question) -> None:
    """Raise NeedsNewerVersion if the question needs newer rules than this process has."""
    if not question.is_understood:
        raise _needs_newer_version("a question")


def check_room_understood(room: Room) -> None:
    """Raise NeedsNewerVersion if the care of the room has options that this process does not know."""
    if has_unknown_options(room.care):
        raise _needs_newer_version("the care of a room")


def check_may_expire(question: Question) -> None:
    """Raise NeedsNewerVersion unless this process knows all that decides what a deadline means."""
    check_understood(question)
    check_room_understood(question.room)
    if schema.was_newer():
        raise NeedsNewerVersion("the database")


def _needs_newer_version(what: str) -> NeedsNewerVersion:
    if what not in _told:
        _told.add(what)
        logger.error(
            "A newer version of Ask Bridge has stored %s that this process does not understand, and does not "
            "settle: restart it with the new version. This is logged once.",
            what,
        )
    return NeedsNewerVersion(what)
