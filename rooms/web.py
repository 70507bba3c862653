"""Shared by all HTML views: login guard, form errors, base context."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import get_language, gettext
from django.views.decorators.cache import never_cache

from rooms import access, lifecycle
from rooms.access import locks, rate_limits
from rooms.access.sign_out import sign_out_of
from rooms.contract.problems import CANNOT_WRITE_SECONDS
from rooms.db import timezone
from rooms.db.transactions import Refusal, refusal_of
from rooms.models import Question, Room
from rooms.people import preferences
from rooms.rendering.language import follow_person

View = Callable[..., HttpResponseBase]

# Set by time-zone.js.
TIME_ZONE_COOKIE = "ask_bridge_time_zone"


# ---- login guard and form errors ------------------------------------------------------------------------


def page(view: View) -> View:
    """Decorator: signed-in people only, in their language, with times in the zone of their browser.

    A form sent by htmx gets a sentence instead of a login page.
    """
    is_form = getattr(view, "is_form", False)

    @never_cache
    @login_not_required  # this decorator is the guard, also where a portal uses LoginRequiredMiddleware
    @wraps(view)
    def guarded(request: HttpRequest, **path: str) -> HttpResponseBase:
        if request.headers.get("HX-Boosted") == "true":
            return _load_as_a_whole(request)
        follow_person(request)
        # Read before the view, which may hide a token in it.
        own_page = _page_of_form(request) if is_form else request.get_full_path()
        if request.user.is_authenticated:
            try:
                with _zone_of_browser(request):
                    return view(request, **path)
            except DatabaseError as error:
                refusal = refusal_of(error)
                if refusal is None or request.method != "POST":
                    raise
                return _not_saved(request, _refused_in_words(refusal), own_page, path.get("question_id", ""))
            except lifecycle.NeedsNewerVersion:
                sentence = needs_newer_version_in_words()
                return _not_saved(request, sentence, own_page, path.get("question_id", ""))
        if is_htmx(request):
            login = redirect_to_login(_place_of_click(request, path.get("question_id"))).url
            return render(request, "ask_bridge/_signed_out.html", {"login": login}, status=401)
        # A form cannot be sent again after the login, so go back to its page.
        is_read = request.method in ("GET", "HEAD")
        return redirect_to_login(request.get_full_path() if is_read else own_page)

    return guarded


def _zone_of_browser(request: HttpRequest) -> AbstractContextManager[None]:
    """Activates that zone; without a valid one that of the site or the portal stays."""
    name = request.COOKIES.get(TIME_ZONE_COOKIE, "")
    return timezone.override(name) if name in timezone.names() else nullcontext()


def _load_as_a_whole(request: HttpRequest) -> HttpResponse:
    """For a link of the portal with `hx-boost`: htmx would swap the page in without its scripts."""
    response = HttpResponse()
    response["HX-Redirect"] = request.get_full_path()
    return response


def form(view: View) -> View:
    """Decorator: POST only, with refusals as sentences; other methods redirect to the page of the form."""

    @wraps(view)
    def posted(request: HttpRequest, **path: str) -> HttpResponseBase:
        if request.method != "POST":
            return redirect(_page_of_form(request))
        try:
            return view(request, **path)
        except rate_limits.TooMany as over:
            return retry_later(_too_many(request, over, path.get("question_id", "")), over)
        except access.MayNotAnswer:
            sentence = gettext("You can read this room, but not answer in it")
            return _may_not(request, path.get("question_id", ""), sentence)
        except lifecycle.NotTheirTurn:
            sentence = gettext("Only the people named on the card can decide this question")
            return _may_not(request, path.get("question_id", ""), sentence)

    posted.is_form = True  # type: ignore[attr-defined]
    return page(posted)


def retry_later(response: HttpResponse, over: rate_limits.TooMany) -> HttpResponse:
    """Add Retry-After for programs."""
    response["Retry-After"] = str(over.seconds)
    return response


def _too_many(request: HttpRequest, over: rate_limits.TooMany, question_id: str) -> HttpResponse:
    """A sentence for the card; without JavaScript a page that can send the form again."""
    if is_htmx(request):
        return sentences([too_many_in_words(over)], status=429)
    heading, back = gettext("Too many requests"), _page_of_form(request)
    return _page_to_resend(request, heading, too_many_in_words(over), back, status=429)


def needs_newer_version_in_words() -> str:
    """The sentence of a process that is older than what it should change."""
    return gettext(
        "This needs a newer version of Ask Bridge than the process that you reached, so nothing was saved: "
        "try again in a moment, or tell an admin"
    )


def _refused_in_words(refusal: Refusal) -> str:
    return {
        Refusal.READ_ONLY: gettext("The database is read-only, so nothing was saved: please tell an admin"),
        Refusal.FULL: gettext("The database disk is full, so nothing was saved: please tell an admin"),
    }[refusal]


def _not_saved(request: HttpRequest, sentence: str, back: str, question_id: str) -> HttpResponse:
    """Like `_too_many`, when the database refuses writes, or this process is too old for them."""
    if is_htmx(request):
        response = sentences([sentence], status=503)
        if not question_id:
            response["HX-Retarget"] = "#ab-notice"
    else:
        heading = gettext("Nothing can be saved right now")
        response = _page_to_resend(request, heading, sentence, back, status=503)
    response["Retry-After"] = str(CANNOT_WRITE_SECONDS)
    return response


def _page_to_resend(
    request: HttpRequest, heading: str, sentence: str, back: str, status: int
) -> HttpResponse:
    """A page with the sent fields and a button that sends them again."""
    context = {
        "heading": heading,
        "sentence": sentence,
        "back": back,
        "fields": [
            (name, value)
            for name, values in request.POST.lists()
            for value in values
            if name != "csrfmiddlewaretoken"
        ],
    }
    return render(request, "ask_bridge/too_many.html", context, status=status)


def _may_not(request: HttpRequest, question_id: str, sentence: str) -> HttpResponse:
    """The refusal of a person who may see the question but not decide it."""
    if is_htmx(request) and question_id:
        return sentences([sentence], status=422)
    raise PermissionDenied(sentence) from None


def too_many_in_words(over: rate_limits.TooMany) -> str:
    """The sentence about a rate limit; like all form errors without a full stop."""
    named = {"limit": over.limit, "seconds": over.seconds}
    return gettext("More than %(limit)s within a minute: send it again in %(seconds)s seconds") % named


def _page_of_form(request: HttpRequest) -> str:
    """The page of a form that has an address of its own: one path segment shorter."""
    return request.path.rpartition("/")[0] or "/"


def _place_of_click(request: HttpRequest, question_id: str | None) -> str:
    """The page and card of an htmx request; without the host, so that a redirect stays on this site."""
    shown = urlsplit(request.headers.get("HX-Current-URL", ""))
    page = f"/{shown.path.lstrip('/')}" if shown.path else _page_of_form(request)
    query = f"?{shown.query}" if shown.query else ""
    return f"{page}{query}#card-{question_id}" if question_id else f"{page}{query}"


def is_htmx(request: HttpRequest) -> bool:
    return request.headers.get("HX-Request") == "true"


def wants_part(request: HttpRequest) -> bool:
    """Whether a script asks for a part of the page, neither to load it anew nor to restore it."""
    is_whole = (
        request.headers.get("HX-Target") == "ab-layout" or "HX-History-Restore-Request" in request.headers
    )
    return is_htmx(request) and not is_whole


def sentences(texts: list[str], status: int) -> HttpResponse:
    """Show these sentences on the card and leave its form as it is."""
    html = render_to_string("ask_bridge/_card_errors.html", {"errors": texts})
    return errors_response(html, status)


def errors_response(html: str, status: int) -> HttpResponse:
    """Show only errors, in the form that was sent: retry.js gives each form a place for them."""
    response = HttpResponse(html, status=status)
    response["HX-Retarget"] = "find .ab-errors"
    response["HX-Reswap"] = "innerHTML"
    return response


# ---- base context ----------------------------------------------------------------------------------------


def base_context(
    request: HttpRequest, rooms: list[Room] | None = None, *, room: Room | None = None
) -> dict[str, Any]:
    """The base context of every page: the person's rooms with their counts, preferences, the stream."""
    rooms = list(access.visible_rooms(request.user)) if rooms is None else rooms
    standing = locks.standing_of(request.user, rooms)
    locked = locks.locked_in(rooms, standing)
    counts = attended_counts(rooms, locked)
    chosen = preferences.preferences_of(request.user)
    muted = preferences.muted_room_ids(chosen)
    links = [
        {"room": link, "count": counts[link.pk], "is_muted": link.pk in muted} for link in in_order(rooms)
    ]
    return {
        "room": room,
        "stream": _stream_address(request, rooms, room),
        "room_links": links,
        "attended_counts": counts,
        "attended_total": counts.total(),
        "standing": standing,
        "locked": locked,
        # The number in the title of the tab: questions that an agent waits for and this person may decide,
        # without muted rooms.
        "calling_total": sum(counts[room.pk] for room in rooms if room.pk not in muted),
        "preferences": chosen,
        "muted_room_ids": muted,
        "may_create_room": access.may_create(request.user),
        "sign_out": sign_out_of(request),
        "time_zone_cookie": TIME_ZONE_COOKIE,
        "csrf_cookie": settings.CSRF_COOKIE_NAME,
    }


def in_order(rooms: Iterable[Room]) -> list[Room]:
    """Rooms by name as people sort names: without regard to case and accents, the same on every database.

    Not by their open questions: a list that moves while a person aims at it is worse than a long one.
    """
    return sorted(rooms, key=lambda room: (_sort_key(room.name), room.slug))


def _sort_key(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name)
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()


def attended_counts(rooms: list[Room], locked: locks.Locked) -> Counter[int]:
    """How many questions count in the badge of each room, in the inbox and in the title of the tab."""
    # All are counted in an index, which the locked ones have to be subtracted from: an exclusion of their ids
    # would read the row of each question.
    questions = Question.objects.attended().filter(room__in=rooms).exclude(room__in=locked.room_ids)
    counts = Counter(dict(questions.order_by().values_list("room").annotate(count=Count("*"))))
    return counts - locked.attended


def _stream_address(request: HttpRequest, rooms: list[Room], shown: Room | None) -> str:
    """The address of the stream: of all rooms, so that one stream serves every tab of a browser."""
    # The shown room was read before its cards, so the stream must start at that revision.
    revisions = {room.slug: room.revision for room in [*rooms, *filter(None, [shown])]}
    parameters = {
        "person": str(request.user.pk),
        "language": get_language() or "",
        "since": ",".join(f"{slug}:{revision}" for slug, revision in revisions.items()),
    }
    return f"{reverse('ask_bridge:inbox-stream')}?{urlencode(parameters, safe=':,')}"
