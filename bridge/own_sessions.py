"""The list of a person's own sessions, and the end of one, of all others, or of all.

A middleware notes the device of each session and when it was seen. A session that is ended here is gone from
the database: its next request is signed out, and its open streams end with the next check of their access.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, logout
from django.contrib.auth.decorators import login_required
from django.contrib.sessions.models import Session
from django.db import DatabaseError, IntegrityError
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from bridge.models import UserSession
from rooms.db.transactions import refusal_of, writing

# As exact as "two minutes ago" needs, and no write with every click.
NOTE_SECONDS = 60
# Sessions that a process remembers to have noted. A forgotten one is noted again a little early.
REMEMBERED = 10_000
# Small enough that other writers do not wait long.
BATCH_SIZE = 500


class OwnSessionsMiddleware:
    """Notes that a session was seen, at most once a minute."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self._noted: OrderedDict[str, float] = OrderedDict()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        session = request.session
        # `accessed` first: a request that needed no session must not load one now.
        if session.accessed and session.session_key and SESSION_KEY in session:
            self._note(request, session.session_key)
        return response

    def _note(self, request: HttpRequest, key: str) -> None:
        now = time.monotonic()
        if now - self._noted.get(key, -NOTE_SECONDS) < NOTE_SECONDS or not request.user.is_authenticated:
            return
        self._noted[key] = now
        if len(self._noted) > REMEMBERED:
            self._noted.popitem(last=False)
        try:
            note(key, request.user, request.headers.get("User-Agent", ""))
        except DatabaseError as error:
            if refusal_of(error) is None:  # what can be read is shown, also when nothing can be written
                raise


def note(session_key: str, user: Any, user_agent: str) -> None:
    """Write down device and time of a session."""
    seen = {"user": user, "user_agent": user_agent[:300], "seen_at": timezone.now()}
    with writing():
        if UserSession.objects.filter(session=session_key).update(**seen):
            return
    try:
        with writing():
            UserSession.objects.create(session_id=session_key, **seen)
    except IntegrityError:
        pass  # the session has just ended, or another request has noted it


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def own_sessions(request: HttpRequest) -> HttpResponse:
    """Show the own sessions; end one of them, all but this one, or all."""
    if request.method == "POST":
        if "all" in request.POST:
            end_sessions(request.user)
            logout(request)
            return redirect("login")
        if "others" in request.POST:
            end_sessions(request.user, but=request.session.session_key)
        elif number := _number(request.POST.get("end", "")):
            _end(_listed(request.user).filter(pk=number).values_list("session", flat=True))
        return redirect("own_sessions")
    here = request.session.session_key
    sessions = sorted(_usable(request.user), key=lambda one: one.seen_at, reverse=True)
    sessions.sort(key=lambda one: one.session_id != here)  # this one first
    return render(request, "own_sessions.html", {"sessions": sessions, "here": here})


def _number(text: str) -> int | None:
    """Not of thousands of digits, which Python refuses with an error."""
    return int(text) if text.isdecimal() and len(text) < 19 else None


def end_sessions(user: Any, but: str | None = None) -> None:
    """End all sessions of this person, or all but one; also those that were never noted."""
    _end(UserSession.objects.filter(user=user).exclude(session=but).values_list("session", flat=True))
    unknown = Session.objects.filter(
        ~Exists(UserSession.objects.filter(session=OuterRef("pk"))), expire_date__gt=timezone.now()
    )
    found = unknown.exclude(pk=but).iterator(BATCH_SIZE)
    _end([one.pk for one in found if one.get_decoded().get(SESSION_KEY) == str(user.pk)])


def _listed(user: Any) -> Any:
    return UserSession.objects.filter(user=user, session__expire_date__gt=timezone.now())


def _usable(user: Any) -> list[UserSession]:
    """Without those that a new password has ended: their rows stay until they expire."""
    valid = {user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()}
    listed = _listed(user).select_related("session")
    return [one for one in listed if one.session.get_decoded().get(HASH_SESSION_KEY) in valid]


def _end(keys: Iterable[str]) -> None:
    keys = list(keys)
    for start in range(0, len(keys), BATCH_SIZE):
        with writing():
            Session.objects.filter(pk__in=keys[start : start + BATCH_SIZE]).delete()
