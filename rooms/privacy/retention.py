"""Background removal of what is older than its room keeps, in short rounds; also for the command."""

import random
import time

from rooms import lifecycle
from rooms.db.interpreter import yield_to_clicks
from rooms.lifecycle import Removed
from rooms.models import Room

# The time of each run, once a minute: some thousand questions, and requests keep most of the CPU.
ROUND_SECONDS = 1.0


def remove_old(seconds: float = ROUND_SECONDS) -> None:
    """Remove batches from the rooms in turn; start no further batch after `seconds`."""
    end = time.monotonic() + seconds
    rooms = list(lifecycle.rooms_with_limit())
    # A room with a large backlog must not keep the others waiting.
    random.shuffle(rooms)
    while rooms:
        rooms = [room for room in rooms if time.monotonic() < end and remove_batch(room)]


def remove_batch(room: Room) -> Removed:
    """Remove one batch of this room; empty when it has nothing that is old enough."""
    since = lifecycle.kept_since(room)
    removed = lifecycle.remove_old(room, since) if since else Removed()
    if removed:
        yield_to_clicks()
    return removed
