"""Shared by the pages of a room's settings: the context around each section, and the way back to it."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from rooms import access
from rooms.models import Room
from rooms.web import base_context


def section_page(
    request: HttpRequest, room: Room, section: str, template: str, status: int = 200, **context: Any
) -> HttpResponse:
    """One section of the settings of a room."""
    context = {
        # An archived room has no stream.
        **base_context(request, room=None if room.archived_at else room),
        "managed": room,
        "section": section,
        "was_saved": request.GET.get("saved", ""),
        **context,
    }
    return render(request, f"ask_bridge/{template}", context, status=status)


def page_of(request: HttpRequest, room: Room) -> str:
    """The page of the room, or the inbox for people who may not see it."""
    if access.may_see(request.user, room):
        return reverse("ask_bridge:room", args=(room.slug,))
    return reverse("ask_bridge:inbox")


def back_to(room: Room, section: str, saved: str = "", fragment: str = "") -> HttpResponseRedirect:
    """Redirect to a section, which says what was saved."""
    address = reverse(f"ask_bridge:{section}", args=(room.slug,))
    query = f"?saved={saved}" if saved else ""
    return HttpResponseRedirect(f"{address}{query}{fragment and '#'}{fragment}", status=303)
