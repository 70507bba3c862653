"""The Settings page with its forms, and the button that mutes one room: plain forms all of them."""

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
from rooms.web import form, is_htmx, page, surroundings


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
    preferences.save(
        request.user, **_switches(request), rooms=rooms, muted_slugs=request.POST.getlist("muted")
    )
    if filled:
        settings_form.save(filled)
    # To the button that was pressed, at the end of a long page: the browser scrolls there by itself.
    response = _see(f"{reverse('ask_bridge:settings')}?saved=1#saved")
    _keep_language(request, response)
    return response


def _switches(request: HttpRequest) -> dict[str, bool]:
    return {name: name in request.POST for name in ("always_submit", "keyboard", "notify")}


def _as_filled_in(request: HttpRequest) -> dict[str, Any]:
    """The form of a page that could not be saved, but for the part about notifications."""
    return {
        "preferences": Preferences(pk=request.user.pk, **_switches(request)),
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
    around = surroundings(request, rooms)
    saved = {
        **around,
        "page": "settings",
        "languages": _languages(),
        "language": request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, ""),
        "muted_slugs": [link["room"].slug for link in around["room_links"] if link["is_muted"]],
        **settings_form.section(request, rooms, filled),
    }
    return render(request, "ask_bridge/settings.html", saved | context, status=status)


@form
def devices(request: HttpRequest) -> HttpResponse:
    """Add the browser that sends this, or remove a device."""
    problem = settings_form.change_devices(request)
    if problem:
        return _page(request, list(access.visible_rooms(request.user)), status=422, device_problem=problem)
    return _see(f"{reverse('ask_bridge:settings')}#settings-devices")


@form
def try_out(request: HttpRequest) -> HttpResponse:
    """Send a notification to oneself."""
    try:
        tried = settings_form.try_out(request)
    except rate_limits.TooMany as over:
        if is_htmx(request):
            return samples.too_many(request, over)
        raise
    if is_htmx(request):
        return samples.part(request, tried)
    if "query" in tried:
        return _see(f"{reverse('ask_bridge:settings')}?{tried['query']}#settings-notices")
    return _page(request, list(access.visible_rooms(request.user)), tried=tried)


@form
def mute(request: HttpRequest, room: str) -> HttpResponse:
    """The button says what it does, so that pressing it twice does not undo it."""
    own_room = access.room_for(request.user, room)
    preferences.mute(request.user, own_room, is_muted=request.POST.get("mute") != "off")
    return _see(reverse("ask_bridge:room", args=(own_room.slug,)))


def _see(address: str) -> HttpResponseRedirect:
    response = HttpResponseRedirect(address)
    response.status_code = 303
    return response


# ---- language: of the browser, not of the person, because the login page has to know it too --------------


def _languages() -> list[dict[str, str]]:
    """What there is to choose from, each in its own words; nothing where the portal has one language."""
    if "django.middleware.locale.LocaleMiddleware" not in settings.MIDDLEWARE or len(settings.LANGUAGES) < 2:
        return []
    return [{"code": code, "name": _own_name(code, name)} for code, name in settings.LANGUAGES]


def _own_name(code: str, name: Any) -> str:
    try:
        return get_language_info(code)["name_local"].capitalize()
    except KeyError:  # a language of the portal's own
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
    elif code == "":  # as the browser asks for it
        response.delete_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            path=settings.LANGUAGE_COOKIE_PATH,
            domain=settings.LANGUAGE_COOKIE_DOMAIN,
            samesite=settings.LANGUAGE_COOKIE_SAMESITE,
        )
