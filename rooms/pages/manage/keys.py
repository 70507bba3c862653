"""The section Keys of a room's settings: create, rotate and revoke the keys of its agents."""

from datetime import timedelta

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from rooms import access
from rooms.access import rate_limits
from rooms.contract.forms import KeyForm, read_key
from rooms.db import timezone
from rooms.lifecycle import Person
from rooms.models import AgentKey, Room
from rooms.pages.manage.settings_page import back_to, section_page
from rooms.web import form, page, retry_later, too_many_in_words


@page
@require_http_methods(["GET", "HEAD", "POST"])
def keys(request: HttpRequest, room: str) -> HttpResponse:
    own_room = access.managed_room(request.user, room)
    return _create(request, own_room) if request.method == "POST" else _page(request, own_room)


def _create(request: HttpRequest, room: Room) -> HttpResponse:
    form = KeyForm(request.POST)
    if not form.is_valid():
        return _page(request, room, form=form, status=422)
    try:
        made = create_as_in(form, room, request.user)
    except rate_limits.TooMany as over:
        form.add_error("label", f"{too_many_in_words(over)}.")
        return retry_later(_page(request, room, form=form, status=429), over)
    return _page(request, room, made)


def create_as_in(form: KeyForm, room: Room, person: Person) -> tuple[AgentKey, str]:
    """The key that this valid form describes, and its text; TooMany over the limit of the person."""
    rate_limits.check_keys(person)
    days = form.cleaned_data["expires_in_days"]
    return access.create_key(
        room,
        label=form.cleaned_data["label"],
        created_by=person,
        expires_at=timezone.now() + timedelta(days=days) if days else None,
        scopes=form.cleaned_data["scopes"],
    )


@form
def rotate(request: HttpRequest, room: str) -> HttpResponse:
    """Replace a key; the old one works for one more day."""
    key = _own_key(request, access.managed_room(request.user, room))
    rate_limits.check_keys(request.user)
    try:
        return _page(request, key.room, access.rotate_key(key, by=request.user))
    except access.NotRotatable:
        # Sent twice, or the key has expired: the list shows its state.
        return back_to(key.room, "manage-keys")


@form
def revoke(request: HttpRequest, room: str) -> HttpResponse:
    """Revoke a key permanently."""
    key = _own_key(request, access.managed_room(request.user, room))
    access.revoke_keys(AgentKey.objects.filter(pk=key.pk), by=request.user)
    return back_to(key.room, "manage-keys")


def _own_key(request: HttpRequest, room: Room) -> AgentKey:
    key = room.keys.select_related("room").filter(lookup=read_key(request.POST)).first()
    if key is None:
        raise Http404("There is no such key.")
    return key


def _page(
    request: HttpRequest,
    room: Room,
    made: tuple[AgentKey, str] | None = None,
    *,
    form: KeyForm | None = None,
    status: int = 200,
) -> HttpResponse:
    # A new key is shown in this reply and never again: it is stored nowhere, not even in the session.
    key, key_text = made or (None, "")
    shown = {
        "form": form or KeyForm(),
        "key": key,
        "key_text": key_text,
        "keys": list(room.keys.select_related("created_by")),
        "last_day": timezone.now() + access.OVERLAP,
    }
    return section_page(request, room, "manage-keys", "manage_keys.html", status, **shown)
