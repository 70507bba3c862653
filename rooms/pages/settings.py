"""The Settings page with its forms, and the mute button of a room. All work without JavaScript."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import get_language_info
from django.views.decorators.http import require_http_methods

from rooms import access
from rooms.access import rate_limits
from rooms.models import Preferences, Room
from rooms.notifications import samples, settings_form
from rooms.people import preferences
from rooms.web import base_context, form, is_htmx, page


@page
@require_http_methods(["GET", "HEAD", "POST"])
def settings_page(request: HttpRequest) -> HttpResponse:
    rooms = list(access.visible_rooms(request.user))
    if request.method != "POST":
        tried = samples.of_page(request)
        return _page(request, rooms, was_saved="saved" in request.GET, tried=tried)
    filled = settings_form.read(request, rooms) if "notices" in request.POST else None
    if filled and filled.errors:
        return _page(request, rooms, status=422, filled=filled, **_as_filled_in(request))
    preferences.save(request.user, **_chosen(request), rooms=rooms, muted_slugs=request.POST.getlist("muted"))
    if filled:
        settings_form.save(filled)
    # The fragment makes the browser scroll to the button that was pressed, at the end of a long page.
    response = _see_other(f"{reverse('ask_bridge:settings')}?saved=1#ab-saved")
    _keep_language(request, response)
    return response


def _chosen(request: HttpRequest) -> dict[str, Any]:
    switches = {name: name in request.POST for name in ("always_submit", "one_tap", "keyboard", "notify")}
    theme = request.POST.get("theme")
    return {
        **switches,
        "theme": theme if theme in Preferences.Theme.values else Preferences.Theme.SYSTEM,
        "undo_seconds": preferences.read_undo_seconds(request.POST.get("undo_seconds", "")),
    }


def _as_filled_in(request: HttpRequest) -> dict[str, Any]:
    """The input of a form that could not be saved, without the notification settings."""
    return {
        "preferences": Preferences(pk=request.user.pk, **_chosen(request)),
        "muted_slugs": request.POST.getlist("muted"),
        "language": request.POST.get("language", ""),
    }


def _page(
    request: HttpRequest,
    rooms: list[Room],
    status: int = 200,
    filled: settings_form.Filled | None = None,
    **context: Any,
) -> HttpResponse:
    base = base_context(request, rooms)
    saved = {
        **base,
        "rail_place": "settings",
        "undo_windows": preferences.UNDO_SECONDS,
        "languages": _languages(),
        "language": request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, ""),
        "muted_slugs": [link["room"].slug for link in base["room_links"] if link["is_muted"]],
        **settings_form.section(request, rooms, filled),
    }
    return render(request, "ask_bridge/settings.html", saved | context, status=status)


@form
def devices(request: HttpRequest) -> HttpResponse:
    """Add the browser that sends this, or remove a device."""
    problem = settings_form.change_devices(request)
    if problem:
        return _page(request, list(access.visible_rooms(request.user)), status=422, device_problem=problem)
    return _see_other(f"{reverse('ask_bridge:settings')}#ab-settings-devices")


@form
def try_out(request: HttpRequest) -> HttpResponse:
    """Send a test notification to this person."""
    try:
        tried = settings_form.try_out(request)
    except rate_limits.TooMany as over:
        if is_htmx(request):
            return samples.too_many(request, over)
        raise
    if is_htmx(request):
        return samples.part(request, tried)
    if "query" in tried:
        return _see_other(f"{reverse('ask_bridge:settings')}?{tried['query']}#ab-settings-notices")
    return _page(request, list(access.visible_rooms(request.user)), tried=tried)


@form
def mute(request: HttpRequest, room: str) -> HttpResponse:
    """Mute or unmute a room. The form names the new state, so that sending it twice does not undo it."""
    own_room = access.room_for(request.user, room)
    preferences.mute(request.user, own_room, is_muted=request.POST.get("mute") != "off")
    return _see_other(reverse("ask_bridge:room", args=(own_room.slug,)))


def _see_other(address: str) -> HttpResponseRedirect:
    response = HttpResponseRedirect(address)
    response.status_code = 303
    return response


# ---- language: stored in the browser, not with the person, because the login page needs it too -----------


def _languages() -> list[dict[str, str]]:
    """The languages to choose from, named in their own language; none if the portal has only one."""
    if "django.middleware.locale.LocaleMiddleware" not in settings.MIDDLEWARE or len(settings.LANGUAGES) < 2:
        return []
    return [{"code": code, "name": _own_name(code, name)} for code, name in settings.LANGUAGES]


def _own_name(code: str, name: Any) -> str:
    try:
        return get_language_info(code)["name_local"].capitalize()
    except KeyError:  # a language that Django does not know
        return str(name)


def _keep_language(request: HttpRequest, response: HttpResponse) -> None:
    code = request.POST.get("language")
    if code in {language["code"] for language in _languages()}:
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            code,
            max_age=settings.LANGUAGE_COOKIE_AGE,
            path=settings.LANGUAGE_COOKIE_PATH,
            domain=settings.LANGUAGE_COOKIE_DOMAIN,
            secure=settings.LANGUAGE_COOKIE_SECURE,
            httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
            samesite=settings.LANGUAGE_COOKIE_SAMESITE,
        )
    elif code == "":  # follow the language of the browser
        response.delete_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            path=settings.LANGUAGE_COOKIE_PATH,
            domain=settings.LANGUAGE_COOKIE_DOMAIN,
            samesite=settings.LANGUAGE_COOKIE_SAMESITE,
        )
