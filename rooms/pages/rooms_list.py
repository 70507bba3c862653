"""The list of a person's rooms: the way to a room on a phone, where there is no rail."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from rooms.web import base_context, page


@page
@require_safe
def rooms_list(request: HttpRequest) -> HttpResponse:
    return render(request, "ask_bridge/rooms_list.html", {**base_context(request), "rail_place": "rooms"})
