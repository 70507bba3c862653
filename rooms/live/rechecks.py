"""Access of open connections, checked again: keys and rooms often, the rules of the host less often."""

import asyncio
from collections import defaultdict
from collections.abc import Collection
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser

from rooms import access
from rooms.access import locks
from rooms.conf import setting
from rooms.db.pool import in_database
from rooms.live.hub import hub
from rooms.models import AgentKey


async def recheck_access() -> None:
    """End the waits of keys that were revoked, and the streams of people who lost a room or their login."""
    await _recheck_agents()
    await _recheck_people()


async def _recheck_agents() -> None:
    by_key = defaultdict(list)
    for connection in hub.connections:
        if connection.key_id is not None:
            by_key[connection.key_id].append(connection)
    if by_key:
        usable = await in_database(_usable_among, list(by_key))
        for key_id in by_key.keys() - usable:
            for connection in by_key[key_id]:
                connection.is_revoked = True
                connection.wake()


async def _recheck_people() -> None:
    by_login = defaultdict(list)
    for stream in hub.streams:
        by_login[stream.user_id, stream.session_key].append(stream)
    for login, streams in by_login.items():
        allowed = await in_database(_rooms_of, *login)
        for stream in streams:
            # A stream of all rooms reconnects to get new rooms as well.
            has_changed = stream.many_rooms and stream.room_ids != allowed
            if has_changed or not stream.room_ids <= allowed:
                stream.end()
    await _recheck_roles()


async def _recheck_roles() -> None:
    """Reload the pages of people whose roles have changed: their cards show what they may do."""
    streams = [stream for stream in hub.streams if not stream.is_ending]
    # A person may have two streams, of which one is newer than the change.
    known = {(stream.user_id, stream.standing) for stream in streams if stream.standing}
    if not known:
        return
    outdated = await in_database(locks.outdated, known)
    for stream in streams:
        if (stream.user_id, stream.standing) in outdated:
            stream.reload()


async def readmit_due() -> None:
    """Send the streams that are due through the host's application again, one after the other."""
    now = asyncio.get_running_loop().time()
    for connection in [one for one in hub.connections if one.readmit_at <= now]:
        connection.readmit_at = now + setting("READMIT_SECONDS")
        await connection.check_admission()


def _usable_among(key_ids: Collection[int]) -> set[int]:
    return set(AgentKey.objects.usable().filter(pk__in=key_ids).values_list("pk", flat=True))


def _rooms_of(user_id: Any, session_key: str | None) -> set[int]:
    """The rooms that this person may see now; none if their session has ended."""
    user: Any = access.user_of_session(session_key) if session_key is not None else None
    if user is None or (user.is_authenticated and user.pk != user_id):
        # The host has named the person of the request by other means, perhaps beside a session of another
        # person. Then that session only has to be valid.
        user = get_user_model()._default_manager.filter(pk=user_id).first() or AnonymousUser()
    return set(access.visible_rooms(user).values_list("pk", flat=True))
