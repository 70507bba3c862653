"""Streams of pages: the changes of one room or of all rooms of a person, from a cursor on.

Always in this order: register with the hub, replay from the database, wait. So no change is missed.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import DisallowedHost
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from rooms import access
from rooms.access import locks
from rooms.access.admission import admission_of
from rooms.api.endpoint import problem_for
from rooms.conf import setting
from rooms.contract import problems
from rooms.db.pool import in_database
from rooms.live import events, polling
from rooms.live.consumer import COMMENT_SECONDS, KEEP_ALIVE, LiveConsumer
from rooms.live.hub import hub
from rooms.models import Room

# A stream with so many unsent changes is cut off; a page that still runs reconnects and gets a replay.
LONGEST_BACKLOG = 500


@dataclass(frozen=True)
class StreamGrant:
    """Show a person the changes of these rooms."""

    user_id: Any
    # None if the person is not signed in by a session, but for example by a header of the proxy.
    session_key: str | None
    rooms: list[Room]
    standing: locks.Standing
    language: str
    # Whether it is the stream of all rooms of the person.
    many_rooms: bool
    # The cursors that the page sent, by room.
    cursors: dict[str, str]


@csrf_exempt  # it changes nothing, and EventSource sends no token either
@login_not_required  # it replies to anonymous visitors itself
@require_http_methods(["GET", "POST"])
def stream(request: HttpRequest, room: str = "") -> HttpResponse:
    """Admit the stream of a page; under WSGI reply with the changes since the page's cursors.

    A page may send its cursors as a form.
    """
    try:
        request.get_host()  # refuses a host that is not in ALLOWED_HOSTS
        grant = _grant(request, room or None)
        admission = admission_of(request)
        return admission.admit(grant) if admission else polling.respond(grant)
    except Http404:
        return problems.not_found().as_response()
    except (access.SignedOut, DisallowedHost, DatabaseError) as error:
        return problem_for(error, request).as_response()


def _grant(request: HttpRequest, slug: str | None) -> StreamGrant:
    """What this person may see; raises if it is not what the page shows."""
    user = request.user
    # Another person may have signed in since in this browser; the old page must not show their changes.
    if not user.is_authenticated or request.GET.get("person", str(user.pk)) != str(user.pk):
        raise access.SignedOut
    rooms = list(access.visible_rooms(user)) if slug is None else [access.room_for(user, slug)]
    session: Any = getattr(request, "session", {})
    return StreamGrant(
        user.pk,
        session.session_key if SESSION_KEY in session else None,
        rooms,
        locks.standing_of(user, rooms),
        _page_language(request.GET.get("language", "")),
        slug is None,
        _cursors(request, slug),
    )


def _cursors(request: HttpRequest, slug: str | None) -> dict[str, str]:
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


def _page_language(code: str) -> str:
    """The language of the page, or the default if the site does not have it."""
    return code if code in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE


class PageStream(LiveConsumer):
    """The stream of a page that shows some rooms; their feeds push changes to it."""

    user_id: Any = None
    session_key: str | None = None
    room_ids: frozenset[int] = frozenset()
    language = ""
    many_rooms = False
    standing: locks.Standing | None = None
    is_ending = False
    # What was pushed before the replay was sent; None from then on.
    _early: list[events.AnyFrame] | None = None

    def show(self, grant: StreamGrant) -> None:
        """Show these rooms to this person."""
        self.user_id, self.session_key = grant.user_id, grant.session_key
        self.room_ids = frozenset(room.pk for room in grant.rooms)
        self.language, self.many_rooms, self.standing = grant.language, grant.many_rooms, grant.standing
        self._early = []
        self._chunks: list[bytes] = []

    async def open(self) -> None:
        grant: StreamGrant | None = await self.admit()
        if grant is None:
            return
        self.show(grant)
        revisions = await hub.add_stream(self, grant.rooms)
        await self.open_stream()
        await self.write(await self.replay(grant, revisions))
        now = asyncio.get_running_loop().time()
        self.due, self.readmit_at = now + COMMENT_SECONDS, now + setting("READMIT_SECONDS")

    async def replay(self, grant: StreamGrant, revisions: dict[int, int]) -> bytes:
        """What the page missed; `revisions` are those of the feeds when the stream was registered."""
        frames: list[events.AnyFrame] = []
        replayed: dict[str, int] = {}
        for room, since in events.replay_starts(grant.cursors, grant.rooms):
            if since == revisions[room.pk]:
                # The feed may be ahead of the room as it was read, and does not send a change twice.
                continue
            replayed[room.slug], missed = await in_database(events.replay, room, since, [self.language])
            frames += missed
        frames += events.gone_frames(grant.cursors, grant.rooms)
        early, self._early = self._early or [], None
        # Of what was pushed meanwhile, only what is newer than the replay.
        frames += [
            frame
            for frame in early
            if frame.revision is None or frame.revision > replayed.get(frame.room, -1)
        ]
        return events.encode_frames(frames, *self.kind, self.standing)

    @property
    def kind(self) -> tuple[Any, str, bool]:
        """Streams of one kind get the same bytes."""
        return self.user_id, self.language, self.many_rooms

    def push(self, frames: list[events.AnyFrame], chunk: bytes) -> None:
        """Send these frames, which `chunk` has encoded for this kind of stream."""
        if self._early is not None:
            self._early.extend(frames)
            return
        self._chunks.append(chunk)
        if len(self._chunks) > LONGEST_BACKLOG:
            self.abort()
        self.wake()

    def end(self) -> None:
        """End the stream; its page reconnects."""
        self.is_ending = True
        self.wake()

    def on_due(self) -> None:
        self.due += COMMENT_SECONDS
        self.push([], KEEP_ALIVE)

    async def look(self) -> None:
        chunks, self._chunks = self._chunks, []
        if self.is_ending or hub.is_closing:
            await self.finish(b"".join(chunks))
        elif chunks:
            await self.write(b"".join(chunks))

    async def check_admission(self) -> None:
        """End the stream if the host no longer admits it; the page reconnects and gets the reason."""
        grant: StreamGrant | None = await self.readmit()
        if grant is None or grant.user_id != self.user_id:
            self.end()

    def unregister(self) -> None:
        hub.remove_stream(self)
