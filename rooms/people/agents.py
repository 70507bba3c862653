"""Connected agents: who would hear a message in a room now, by leases in the database, so in any process.

An agent is connected while it waits for an open question, while a poll or event stream of its key is open,
and for a few seconds after its last call: between two polls it must not flicker.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import timedelta

from rooms.db import timezone
from rooms.db.transactions import in_batches, optional_writes, own_rows, writing
from rooms.lifecycle import LEASE_SECONDS
from rooms.models import AgentKey, Question, Room


def renew_keys(key_ids: Sequence[int]) -> None:
    """A poll or event stream of each of these keys is open: they are in use."""
    for batch in in_batches(key_ids):
        with optional_writes(), writing():
            # In one order: another process may renew some of the same keys.
            keys = AgentKey.objects.filter(pk__in=batch).order_by("pk").select_for_update(**own_rows())
            locked = list(keys.values_list("pk", flat=True))
            AgentKey.objects.filter(pk__in=locked).update(last_used_at=timezone.now())


def connected_in(rooms: Collection[Room]) -> dict[int, list[str]]:
    """For each of these rooms the names of its connected agents."""
    now = timezone.now()
    names: dict[int, set[str]] = {room.pk: set() for room in rooms}
    keys_with_names: dict[int, set[int | None]] = defaultdict(set)
    waited_for = Question.objects.attended().filter(room__in=rooms, agent_active=True, waiting_until__gt=now)
    for room_id, key_id, name in waited_for.order_by().values_list("room_id", "key_id", "agent_name"):
        names[room_id].add(name)
        keys_with_names[room_id].add(key_id)
    used_since = now - timedelta(seconds=LEASE_SECONDS)
    in_use = AgentKey.objects.alive().filter(room__in=rooms, last_used_at__gt=used_since)
    for key_id, room_id, label in in_use.order_by().values_list("pk", "room_id", "label"):
        # An agent that waits is known by its own name, and not by the label of its key as well.
        if key_id not in keys_with_names[room_id]:
            names[room_id].add(label)
    return {room_id: sorted(found) for room_id, found in names.items()}
