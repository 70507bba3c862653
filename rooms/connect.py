"""The Connect page: a key, blocks to paste for every kind of agent, and a sign that it worked."""

from functools import cache
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from bridge_client.archive import archive
from rooms import access, lifecycle
from rooms.forms import KeyForm
from rooms.models import Room
from rooms.pages import form, page, surroundings
from rooms.payload import parse_ask

# A test question is for the next minutes, not for somebody's history of open ones.
TEST_QUESTION_SECONDS = 15 * 60


@page
@require_http_methods(["GET", "POST"])
def connect(request: HttpRequest, room: str) -> HttpResponse:
    own_room = access.room_for(request.user, room)
    context: dict[str, Any] = {
        **surroundings(request, room=own_room),
        "may_manage": access.may_manage(request.user, own_room),
        "form": KeyForm(),
    }
    if request.method == "POST" and context["may_manage"]:
        context["form"] = form = KeyForm(request.POST)
        if form.is_valid():
            # Shown in this reply and never again: it is stored nowhere, not even in the session.
            context["key"], context["key_text"] = access.create_key(
                own_room, label=form.cleaned_data["label"], created_by=request.user
            )
    context["blocks"] = _blocks(request, own_room, context.get("key_text", ""))
    if context["may_manage"]:
        context |= _keys(own_room)
    return render(request, "ask_bridge/connect.html", context)


@page
@require_safe
def keys(request: HttpRequest, room: str) -> HttpResponse:
    """The table of keys, asked for again and again by the page until the first call has come."""
    own_room = access.room_for(request.user, room)
    shown = _keys(own_room) if access.may_manage(request.user, own_room) else {}
    return render(request, "ask_bridge/_keys.html", {"room": own_room, **shown})


@form
def send_test_question(request: HttpRequest, room: str) -> HttpResponse:
    """A question from nobody's agent, to see a card and click it."""
    own_room = access.room_for(request.user, room)
    asked = parse_ask(
        {
            "agent": {"name": "test question", "color": "teal"},
            "question": "Do you see this card?",
            "header": "Test",
            "options": ["Yes, and I clicked it", "Yes, but I would like another colour"],
            "context": {"text": f"{request.user.get_username()} tries out {own_room.name}."},
            "timeout_seconds": TEST_QUESTION_SECONDS,
        }
    )
    question, _ = lifecycle.ask(own_room, None, asked)
    return redirect("ask_bridge:question", own_room.slug, question.pk)


@login_not_required
@require_safe
def client_archive(request: HttpRequest) -> HttpResponse:
    """The command `ask-bridge` as one file, for machines that cannot install packages."""
    response = HttpResponse(_client_archive(), content_type="application/zip")
    response["Content-Disposition"] = 'attachment; filename="ask-bridge.pyz"'
    return response


_client_archive = cache(archive)


def _keys(room: Room) -> dict[str, Any]:
    """The room's keys, and whether one of them still waits for its first call."""
    keys = list(room.keys.all())
    return {"keys": keys, "awaits_call": any(not key.last_used_at and not key.revoked_at for key in keys)}


def _blocks(request: HttpRequest, room: Room, key_text: str) -> dict[str, str]:
    """What to paste, complete and right for this server as this person's browser reached it."""

    def absolute(name: str, *args: str) -> str:
        return request.build_absolute_uri(reverse(f"ask_bridge:{name}", args=args))

    context = {
        "key": key_text or "abk_…",
        "room": room.slug,
        "bridge": absolute("inbox").rstrip("/"),
        "ask_address": absolute("api-questions", room.slug),
        "hook_address": absolute("api-claude-code", room.slug),
        "archive_address": absolute("client-archive"),
    }
    return {
        name: render_to_string(f"ask_bridge/connect/{name}.txt", context).strip()
        for name in ("http", "command", "sdk", "mcp", "curl")
    }
