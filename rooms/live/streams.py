"""Event streams of pages: the changes of one room or of all rooms of a person, from a cursor on.

Always in this order: register with the hub, replay from the database, wait. So no change is missed.
"""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from rooms import access
from rooms.access import locks
from rooms.db.pool import in_database
from rooms.live import events
from rooms.live.connections import Viewer
from rooms.live.exchange import COMMENT_SECONDS, Exchange
from rooms.live.hub import hub
from rooms.models import Room


async def stream_rooms(exchange: Exchange, room: str | None = None) -> None:
    """Stream the changes of one room, or of all rooms that the person may see.

    A page may send its cursors as a form.
    """
    if exchange.request.method == "POST":
        await exchange.read_body()
    viewer, rooms = await _admit(exchange.request, room)
    watching = None
    try:
        revisions = await hub.join(viewer, rooms)
        await exchange.open_stream()
        watching = exchange.watch_disconnect(viewer)
        await _catch_up(viewer, cursors(exchange.request, room), rooms, revisions)
        await exchange.write(viewer.take())
        # Thousands of streams are idle most of the time: release what only the beginning needed.
        exchange.release_request()
        del rooms, revisions
        viewer.start_timer(COMMENT_SECONDS)
        viewer.write = exchange.write_now
        while not viewer.is_disconnected and not hub.is_closing:
            was_woken = await viewer.sleep()
            await exchange.write(viewer.take() if was_woken else b": keep-alive\n\n")
    finally:
        hub.remove_viewer(viewer)
        viewer.stop_timer()
        if watching:
            watching.cancel()
    await exchange.finish()


async def _admit(request: HttpRequest, slug: str | None) -> tuple[Viewer, list[Room]]:
    """The viewer of this page and its rooms; raises if the person may not see them."""
    session_key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    user_id, rooms, standing = await in_database(_watchable_rooms, session_key, slug)
    if request.GET.get("person", str(user_id)) != str(user_id):
        # Another person has signed in since in this browser; the old page must not show their changes.
        raise access.SignedOut
    language = page_language(request.GET.get("language", ""))
    room_ids = {room.pk for room in rooms}
    viewer = Viewer(user_id, session_key, room_ids, language, many_rooms=slug is None, standing=standing)
    hub.admit(viewer)
    return viewer, rooms


async def _catch_up(
    viewer: Viewer, sent: dict[str, str], rooms: list[Room], revisions: dict[int, int]
) -> None:
    """Replay what the page missed; `revisions` are those of the feeds when the viewer joined."""
    for room, since in replay_starts(sent, rooms):
        if since is None:
            viewer.catch_up(room.slug, *await in_database(events.open_frames, room.pk))
        elif since < 0:
            viewer.catch_up(room.slug, room.revision, [events.reset_frame(room.slug, room.revision)])
        elif since != revisions[room.pk]:
            # The feed may be ahead of the room as it was read, and does not send a change twice.
            missed = await in_database(events.frames_after, room.pk, since, [viewer.language])
            viewer.catch_up(room.slug, *missed)
    viewer.push([events.room_gone_frame(slug) for slug in sent.keys() - {room.slug for room in rooms}])


def _watchable_rooms(session_key: str | None, slug: str | None) -> tuple[Any, list[Room], locks.Standing]:
    user = access.user_of_session(session_key)
    if not user.is_authenticated:
        raise access.SignedOut
    rooms = list(access.visible_rooms(user)) if slug is None else [access.room_for(user, slug)]
    return user.pk, rooms, locks.standing_of(user, rooms)


def cursors(request: HttpRequest, slug: str | None) -> dict[str, str]:
    """The cursors that the page sent, by room.

    The stream of one room has plain revisions, that of all rooms `room:revision` pairs. Its last event id
    names one room only; the others replay from the start of the page, which is harmless.
    """
    since = request.POST.get("since") or request.GET.get("since", "")
    last_event_id = request.headers.get("Last-Event-ID", "")
    if slug is not None:
        pairs = [f"{slug}:{cursor}" for cursor in (since, last_event_id) if cursor]
    else:
        pairs = [*since.split(","), last_event_id]
    return dict(pair.split(":", 1) for pair in pairs if ":" in pair)


def replay_starts(sent: dict[str, str], rooms: list[Room]) -> list[tuple[Room, int | None]]:
    """The revision from which each room is replayed: -1 for an invalid cursor, None for a room that is new to
    the page."""
    if not sent:
        return []
    return [(room, _revision(sent[room.slug]) if room.slug in sent else None) for room in rooms]


def _revision(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1


def page_language(code: str) -> str:
    """The language of the page, or the default if the site does not have it."""
    return code if code in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE
