"""The Connect page: agent keys, blocks to paste for every kind of agent, and a test question."""

from datetime import timedelta
from functools import cache
from hashlib import sha256
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from bridge_client.archive import archive
from rooms import access, lifecycle
from rooms.access import rate_limits
from rooms.contract.forms import KeyForm, read_key
from rooms.contract.payload import parse_ask
from rooms.models import CLOSE_AFTER_CHOICES, AgentKey, Room
from rooms.web import base_context, form, page, retry_later, too_many_in_words

# A test question is answered within minutes; after that it must not stay among the open ones.
TEST_QUESTION_SECONDS = 15 * 60


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
    days = form.cleaned_data["expires_in_days"]
    try:
        rate_limits.check_keys(request.user)
        made = access.create_key(
            room,
            label=form.cleaned_data["label"],
            created_by=request.user,
            expires_at=timezone.now() + timedelta(days=days) if days else None,
            scopes=form.cleaned_data["scopes"],
        )
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
    return HttpResponseRedirect(f"{address}?saved=closing#closing", status=303)


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
    """The table of keys, polled by the page until each key has been used."""
    own_room = access.room_for(request.user, room)
    shown = _keys(own_room) if access.may_manage(request.user, own_room) else {}
    return render(request, "ask_bridge/_keys.html", {"room": own_room, **shown})


@form
def send_test_question(request: HttpRequest, room: str) -> HttpResponse:
    """Ask a test question without an agent, in the language of the sender."""
    own_room = access.room_for(request.user, room)
    names = {"name": request.user.get_username(), "room": own_room.name}
    asked = parse_ask(
        {
            "agent": {"name": gettext("test question"), "color": "teal"},
            "question": gettext("Do you see this card?"),
            "header": gettext("Test"),
            "options": [gettext("Yes, and I clicked it"), gettext("Yes, but I would like another colour")],
            "context": {"text": gettext("%(name)s is testing %(room)s.") % names},
            "timeout_seconds": TEST_QUESTION_SECONDS,
        }
    )
    rate_limits.check_asks(None)
    question, _ = lifecycle.ask(own_room, None, asked, by=request.user)
    return redirect("ask_bridge:question", own_room.slug, question.pk)


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
    """The room's keys, and whether one of them has not been used yet."""
    keys = list(room.keys.all())
    return {
        "keys": keys,
        "last_day": timezone.now() + access.OVERLAP,
        "awaits_call": any(not key.last_used_at and key.is_alive for key in keys),
    }


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
        for name in ("http", "command", "checksum", "sdk", "mcp", "curl")
    }
