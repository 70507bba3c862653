"""Pages that watch: one room, or all rooms of a person, from a cursor on.

Always in this order: join the hub, then replay from the database, then sleep. So nothing is missed.
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
    """One room's changes for an open page, or those of all rooms that its person may see.

    A page may send its cursors as a form.
    """
    if exchange.request.method == "POST":
        await exchange.read_body()
    viewer, rooms = await _let_in(exchange.request, room)
    watching = None
    try:
        heard = await hub.join(viewer, rooms)
        await exchange.open_stream()
        watching = exchange.watch(viewer)
        await _catch_up(viewer, cursors(exchange.request, room), rooms, heard)
        await exchange.write(viewer.take())
        # A page sleeps most of its life, and there are thousands: it keeps nothing of its beginning.
        exchange.rest()
        del rooms, heard
        viewer.start_clock(COMMENT_SECONDS)
        viewer.write = exchange.write_at_once
        while not viewer.is_gone and not hub.is_closing:
            was_woken = await viewer.sleep()
            await exchange.write(viewer.take() if was_woken else b": still here\n\n")
    finally:
        hub.remove_viewer(viewer)
        viewer.stop_clock()
        if watching:
            watching.cancel()
    await exchange.finish()


async def _let_in(request: HttpRequest, slug: str | None) -> tuple[Viewer, list[Room]]:
    """A viewer for the person's page and the rooms that it watches, if it may."""
    session_key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    user_id, rooms, standing = await in_database(_watchable_rooms, session_key, slug)
    if request.GET.get("person", str(user_id)) != str(user_id):
        # Somebody else has signed in since in this browser: their changes are not for the old page.
        raise access.SignedOut
    language = page_language(request.GET.get("language", ""))
    room_ids = {room.pk for room in rooms}
    viewer = Viewer(user_id, session_key, room_ids, language, many_rooms=slug is None, standing=standing)
    hub.welcome(viewer)
    return viewer, rooms


async def _catch_up(viewer: Viewer, told: dict[str, str], rooms: list[Room], heard: dict[int, int]) -> None:
    """What the page missed, before what comes; `heard` is where the feeds were when it joined them."""
    for room, since in beginnings(told, rooms):
        if since is None:
            viewer.catch_up(room.slug, *await in_database(events.open_frames, room.pk))
        elif since < 0:
            viewer.catch_up(room.slug, room.revision, [events.reset_frame(room.slug, room.revision)])
        elif since != heard[room.pk]:
            # The feed may be ahead of what was read before joining it, and does not repeat itself.
            missed = await in_database(events.frames_after, room.pk, since, [viewer.language])
            viewer.catch_up(room.slug, *missed)
    viewer.push([events.gone_frame(gone) for gone in told.keys() - {room.slug for room in rooms}])


def _watchable_rooms(session_key: str | None, slug: str | None) -> tuple[Any, list[Room], locks.Standing]:
    user = access.user_of_session(session_key)
    if not user.is_authenticated:
        raise access.SignedOut
    rooms = list(access.visible_rooms(user)) if slug is None else [access.room_for(user, slug)]
    return user.pk, rooms, locks.standing_of(user, rooms)


def cursors(request: HttpRequest, slug: str | None) -> dict[str, str]:
    """Where the page says that it is, by room.

    A room's stream has plain revisions, the one of all rooms has `room:revision` pairs. Its last event id
    names one room only; the others replay from where the page began, which is more than needed and harmless.
    """
    since = request.POST.get("since") or request.GET.get("since", "")
    last_event_id = request.headers.get("Last-Event-ID", "")
    if slug is not None:
        pairs = [f"{slug}:{cursor}" for cursor in (since, last_event_id) if cursor]
    else:
        pairs = [*since.split(","), last_event_id]
    return dict(pair.split(":", 1) for pair in pairs if ":" in pair)


def beginnings(told: dict[str, str], rooms: list[Room]) -> list[tuple[Room, int | None]]:
    """Where each room's replay begins: -1 where the page named a cursor that means nothing to us, None for a
    room that the page has not heard of."""
    if not told:
        return []
    return [(room, _revision(told[room.slug]) if room.slug in told else None) for room in rooms]


def _revision(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1


def page_language(code: str) -> str:
    """The language that the page is in, if it is one of the site's."""
    return code if code in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE
