"""The address of a page's stream: admits the stream, or lets the page poll under WSGI."""

from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import DisallowedHost
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from rooms import access
from rooms.access import locks
from rooms.access.admission import admission_of
from rooms.api.endpoint import problem_for
from rooms.contract import problems
from rooms.live import events
from rooms.live.consumer import STREAM_HEADERS
from rooms.live.frames import encode_frames
from rooms.live.streams import StreamGrant

# Pages that poll have to be up to date within this time; more often would only load the workers.
POLL_SECONDS = 5


@never_cache
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
        return admission.admit(grant) if admission else _poll(grant)
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


def _cursors(request: HttpRequest, slug: str | None) -> dict[str, str] | None:
    """The cursors that the page sent, by room; None without any. A page without rooms sends an empty text.

    The stream of one room has plain revisions, that of all rooms `room:revision` pairs. Its last event id
    names one room only; the others replay from the start of the page, which is harmless.
    """
    since = request.POST.get("since") or request.GET.get("since", "")
    last_event_id = request.headers.get("Last-Event-ID", "")
    if not last_event_id and "since" not in request.POST and "since" not in request.GET:
        return None
    if slug is not None:
        pairs = [f"{slug}:{cursor}" for cursor in (since, last_event_id) if cursor]
    else:
        pairs = [*since.split(","), last_event_id]
    return dict(pair.split(":", 1) for pair in pairs if ":" in pair)


def _page_language(code: str) -> str:
    """The language of the page, or the default if the site does not have it."""
    return code if code in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE


def _poll(grant: StreamGrant) -> HttpResponse:
    """The events since the page's cursors, and when to poll again."""
    frames = events.gone_frames(grant.cursors, grant.rooms)
    for room, since in events.replay_starts(grant.cursors, grant.rooms):
        if since != room.revision:
            frames += events.replay(room, since, [grant.language])[1]
    body = encode_frames(frames, grant.user_id, grant.language, grant.many_rooms, grant.standing)
    return HttpResponse(body, headers={**STREAM_HEADERS, "Retry-After": str(POLL_SECONDS)})
