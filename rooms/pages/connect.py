"""The Connect page: agent keys, blocks to paste for every client, a checklist, and a test question."""

import json
from functools import cache
from hashlib import sha256
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from bridge_client.archive import archive
from rooms import access, lifecycle
from rooms.access import rate_limits
from rooms.contract.forms import KeyForm, read_key
from rooms.db import timezone
from rooms.models import CLOSE_AFTER_CHOICES, AgentKey, Room
from rooms.pages import sample_question
from rooms.pages.first_steps import FirstSteps
from rooms.pages.manage.keys import create_as_in
from rooms.web import base_context, form, page, retry_later, too_many_in_words

# The tabs of the page, in their order; the first one is open unless the address or the form names another.
CLIENTS = ("http", "command", "sdk", "mcp", "cli", "curl")


class ClosingForm(forms.Form):
    """After how many seconds without a waiting agent a question is closed; empty for never."""

    close_after_seconds = forms.TypedChoiceField(
        choices=[("" if seconds is None else str(seconds), text) for seconds, text in CLOSE_AFTER_CHOICES],
        coerce=int,
        empty_value=None,
        required=False,
    )


@page
@require_http_methods(["GET", "POST"])
def connect(request: HttpRequest, room: str) -> HttpResponse:
    own_room = access.room_for(request.user, room)
    if request.method == "POST" and access.may_manage(request.user, own_room):
        return _create_key(request, own_room)
    return _connect_page(request, own_room)


def _create_key(request: HttpRequest, room: Room) -> HttpResponse:
    form = KeyForm(request.POST)
    if not form.is_valid():
        return _connect_page(request, room, form=form)
    try:
        made = create_as_in(form, room, request.user)
    except rate_limits.TooMany as over:
        form.add_error("label", f"{too_many_in_words(over)}.")
        return retry_later(_connect_page(request, room, form=form, status=429), over)
    return _connect_page(request, room, made)


@form
def rotate_key(request: HttpRequest, room: str) -> HttpResponse:
    """Replace a key; the old one works for one more day."""
    own_room = access.room_for(request.user, room)
    key = _own_key(request, own_room)
    rate_limits.check_keys(request.user)
    try:
        return _connect_page(request, own_room, access.rotate_key(key, by=request.user))
    except access.NotRotatable:
        # Sent twice, or the key has expired: the table shows the state of the key.
        return redirect("ask_bridge:connect", own_room.slug)


@form
def revoke_key(request: HttpRequest, room: str) -> HttpResponse:
    """Revoke a key permanently."""
    own_room = access.room_for(request.user, room)
    key = _own_key(request, own_room)
    access.revoke_keys(AgentKey.objects.filter(pk=key.pk), by=request.user)
    return redirect("ask_bridge:connect", own_room.slug)


@form
def close_questions_after(request: HttpRequest, room: str) -> HttpResponse:
    """Set when questions without a waiting agent are closed; only for managers."""
    own_room = access.room_for(request.user, room)
    if not access.may_manage(request.user, own_room):
        raise Http404("There is no such form.")
    form = ClosingForm(request.POST)
    # An empty value means "never"; a missing field is an error.
    if not form.is_valid() or "close_after_seconds" not in request.POST:
        return _connect_page(request, own_room, closing=form, status=422)
    lifecycle.close_questions_after(own_room, form.cleaned_data["close_after_seconds"], by=request.user)
    address = reverse("ask_bridge:connect", args=(own_room.slug,))
    return HttpResponseRedirect(f"{address}?saved=closing#ab-closing", status=303)


def _own_key(request: HttpRequest, room: Room) -> AgentKey:
    """The key that the form names; 404 for people who may not manage the room."""
    key = room.keys.filter(lookup=read_key(request.POST)).first()
    if key is None or not access.may_manage(request.user, room):
        raise Http404("There is no such key.")
    return key


def _connect_page(
    request: HttpRequest,
    room: Room,
    made: tuple[AgentKey, str] | None = None,
    *,
    form: KeyForm | None = None,
    closing: ClosingForm | None = None,
    test_error: str = "",
    status: int = 200,
) -> HttpResponse:
    # A new key is shown in this reply and never again: it is stored nowhere, not even in the session.
    key, key_text = made or (None, "")
    context: dict[str, Any] = {
        **base_context(request, room=room),
        "may_manage": access.may_manage(request.user, room),
        "managers": access.manager_names(room),
        "form": form or KeyForm(),
        "key": key,
        "key_text": key_text,
        "blocks": _blocks(request, room, key_text),
        "client": _client(request),
        "first_steps": FirstSteps(room, key or _key_to_follow(request, room)),
        "test_error": test_error,
        "test_question": json.dumps(sample_question.body(request.user, room)),
    }
    if context["may_manage"]:
        shown = "" if room.close_after_seconds is None else str(room.close_after_seconds)
        context |= _keys(room)
        context |= {
            "closing": closing or ClosingForm(initial={"close_after_seconds": shown}),
            "closing_was_saved": request.GET.get("saved") == "closing",
        }
    return render(request, "ask_bridge/connect.html", context, status=status)


@page
@require_safe
def keys(request: HttpRequest, room: str) -> HttpResponse:
    """The table of keys, which the page loads again when a step of the checklist is done."""
    own_room = access.room_for(request.user, room)
    shown = _keys(own_room) if access.may_manage(request.user, own_room) else {}
    return render(request, "ask_bridge/_keys.html", {"room": own_room, **shown})


@page
@require_safe
def steps(request: HttpRequest, room: str) -> HttpResponse:
    """The checklist of a key, polled by the page until it is complete; 204 while nothing is new."""
    own_room = access.room_for(request.user, room)
    first_steps = FirstSteps(own_room, _key_to_follow(request, own_room))
    if request.GET.get("done") == str(first_steps.done):
        return HttpResponse(status=204)
    shown = {
        "room": own_room,
        "first_steps": first_steps,
        "may_manage": _may_manage(request, own_room),
        "is_news": True,
    }
    response = render(request, "ask_bridge/_first_steps.html", shown)
    response["HX-Trigger"] = "ab-step-done"  # the table of keys loads itself again
    return response


def _key_to_follow(request: HttpRequest, room: Room) -> AgentKey | None:
    """The key that a manager names in the address, else the newest one that works."""
    keys = room.keys.usable().select_related("room")
    lookup = request.GET.get("key", "").replace("\x00", "")
    named = keys.filter(lookup=lookup) if _may_manage(request, room) else keys.none()
    return named.first() or keys.first()


def _may_manage(request: HttpRequest, room: Room) -> bool:
    return access.may_manage(request.user, room)


def _client(request: HttpRequest) -> str:
    """The client whose tab is open."""
    named = request.POST.get("client") or request.GET.get("client")
    return named if named in CLIENTS else CLIENTS[0]


@sensitive_post_parameters("agent_key")
@form
def send_test_question(request: HttpRequest, room: str) -> HttpResponse:
    """Ask a test question with the key of the form, or without one; then show its card."""
    own_room = access.room_for(request.user, room)
    try:
        question = sample_question.ask(request.user, own_room, request.POST.get("agent_key", "").strip())
    except (access.BadKey, access.Missing):
        refused = gettext("This key does not work in this room. It may be mistyped, revoked or expired.")
    except access.MissingScope:
        refused = gettext("This key may not ask questions: it was created only to answer for people.")
    else:
        return redirect("ask_bridge:question", own_room.slug, question.pk)
    return _connect_page(request, own_room, test_error=refused, status=422)


@login_not_required
@require_safe
def client_archive(request: HttpRequest) -> HttpResponse:
    """The command `ask-bridge` as one file, for machines that cannot install packages."""
    response = HttpResponse(_client_archive(), content_type="application/zip")
    response["Content-Disposition"] = 'attachment; filename="ask-bridge.pyz"'
    return response


_client_archive = cache(archive)


@cache
def _archive_hash() -> str:
    return sha256(_client_archive()).hexdigest()


def _keys(room: Room) -> dict[str, Any]:
    """The room's keys, and how long a replaced one works."""
    return {"keys": list(room.keys.all()), "last_day": timezone.now() + access.OVERLAP}


def _blocks(request: HttpRequest, room: Room, key_text: str) -> dict[str, str]:
    """The texts to paste, with the address at which this browser reached the server."""

    def absolute(name: str, *args: str) -> str:
        return request.build_absolute_uri(reverse(f"ask_bridge:{name}", args=args))

    context = {
        "key": key_text or "abk_…",
        "room": room.slug,
        "bridge": absolute("inbox").rstrip("/"),
        "ask_address": absolute("api-questions", room.slug),
        "hook_address": absolute("api-claude-code", room.slug),
        "archive_address": absolute("client-archive"),
        "archive_hash": _archive_hash(),
    }
    return {
        name: render_to_string(f"ask_bridge/connect/{name}.txt", context).strip()
        for name in (*CLIENTS, "checksum")
    }
